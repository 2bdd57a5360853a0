/**
 * A stand-in for Forgejo and Gitea, as Gitea 1.26 answered: scopes are checked before paths, a status
 * on an unknown commit is a 500, lists of comments have no pages, and there are no rate limits.
 */
import { createHmac, randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import {
  addComment,
  changeComment,
  comparedOf,
  openPulls,
  paged,
  saveHook,
  saveStatus,
  startStandIn,
  type Answer,
  type Pull,
  type Repository,
} from "./stand-in.ts";

type Scope = "read:repository" | "write:repository" | "write:issue";

/** Starts a host with these tokens and their scopes; all of them belong to `windlass-bot`. */
export async function startForgejo(
  tokens: Readonly<Record<string, readonly Scope[]>>,
  serve?: RequestListener,
) {
  const host = await startStandIn(
    "/api/v1",
    (call, url) => {
      const { method, path, headers, query, body } = call;
      const scopes = tokens[headers.authorization?.replace("token ", "") ?? ""];
      if (!scopes) return [401, { message: "invalid username, password or token" }];
      if (path === "/user") return [200, { id: 7, login: "windlass-bot" }];
      const missing = lacking(method, path, scopes);
      if (missing)
        return [
          403,
          {
            message: `token does not have at least one of required scope(s), required=[${missing}]`,
          },
        ];
      const page = <T>(all: readonly T[]) =>
        paged(all, query, { name: "limit", default: 30, most: 50 }).items;
      const shown = (one: Repository) => repositoryJson(one, url);
      if (path === "/user/repos") return [200, page(host.repositories.map(shown))];
      const byId = /^\/repositories\/(\d+)$/.exec(path);
      const [, name = "", rest = ""] = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(path) ?? [];
      const repository = host.repositories.find((one) =>
        byId ? String(one.id) === byId[1] : one.full_name === decodeURIComponent(name),
      );
      if (!repository) return [404, { message: "The target couldn't be found." }];
      if (byId || rest === "") return [200, shown(repository)];
      return answerOf(repository, method, rest, body, page);
    },
    serve,
  );
  return {
    ...host,
    /** The headers and the body of a webhook, signed as Gitea signs, with GitHub's headers too. */
    event: (name: string, payload: object, secret: string) => {
      const body = JSON.stringify(payload);
      const digest = secret === "" ? "" : createHmac("sha256", secret).update(body).digest("hex");
      const [id, type] = [randomUUID(), name];
      return {
        body,
        headers: {
          "content-type": "application/json",
          "x-gitea-delivery": id,
          "x-gitea-event": type,
          "x-gitea-signature": digest,
          "x-github-delivery": id,
          "x-github-event": type,
          "x-hub-signature-256": `sha256=${digest}`,
        },
      };
    },
  };
}

function repositoryJson({ id, full_name }: Repository, url: string) {
  const clone_url = `${url}/${full_name}.git`;
  return { id, full_name, clone_url, default_branch: "main", empty: false, private: true };
}

/** The scope that a request lacks. It is checked before its path. */
function lacking(method: string, path: string, scopes: readonly Scope[]): Scope | undefined {
  const isWrite = method !== "GET";
  const needed =
    /\/issues\//.test(path) && isWrite
      ? "write:issue"
      : isWrite
        ? "write:repository"
        : "read:repository";
  const has = scopes.includes(needed) || (!isWrite && scopes.includes("write:repository"));
  return has ? undefined : needed;
}

function answerOf(
  repository: Repository,
  method: string,
  rest: string,
  body: Readonly<Record<string, unknown>>,
  page: <T>(all: readonly T[]) => T[],
): Answer {
  const branch = /^\/branches\/(.+)$/.exec(rest)?.[1];
  if (branch !== undefined) {
    const id = repository.branches.get(decodeURIComponent(branch));
    return id
      ? [200, { name: branch, commit: { id } }]
      : [404, { message: "branch does not exist" }];
  }
  if (rest === "/pulls")
    return [200, page(openPulls(repository).map((pull) => pullJson(repository, pull)))];
  const [, number, part] = /^\/pulls\/(\d+)(\/files)?$/.exec(rest) ?? [];
  if (number !== undefined) {
    const pull = repository.pulls.get(Number(number));
    if (!pull) return [404, {}];
    return part ? [200, page(pull.files.map(fileJson))] : [200, pullJson(repository, pull)];
  }
  const [, from = "", to = ""] = /^\/compare\/(.+)\.\.\.(.+)$/.exec(rest) ?? [];
  if (to !== "") {
    const found = comparedOf(repository, from, to);
    if (!found) return [404, {}];
    const commits = found.dropped > 0 ? [] : [{ files: found.files.map(fileJson) }];
    return [200, { total_commits: commits.length, commits }];
  }
  const commit = /^\/statuses\/(.+)$/.exec(rest)?.[1];
  if (commit !== undefined) {
    if (!repository.commits.has(commit)) return [500, { message: "object does not exist" }];
    const status = body as Record<string, string>;
    saveStatus(repository, commit, status["context"], status);
    return [201, {}];
  }
  const issue = /^\/issues\/(\d+)\/comments$/.exec(rest)?.[1];
  if (issue !== undefined)
    return commentsOf(repository, Number(issue), method, String(body["body"]));
  const comment = /^\/issues\/comments\/(\d+)$/.exec(rest)?.[1];
  if (comment !== undefined) {
    const changed = changeComment(repository, comment, String(body["body"]));
    return changed ? [200, { id: changed.id }] : [404, {}];
  }
  const person = /^\/collaborators\/([^/]+)\/permission$/.exec(rest)?.[1];
  if (person !== undefined)
    return [200, { permission: repository.writers.has(person) ? "write" : "read" }];
  const [, hook] = /^\/hooks(?:\/(\d+))?$/.exec(rest) ?? [];
  if (rest.startsWith("/hooks")) return hooksOf(repository, method, hook, body);
  return [404, { message: "not found" }];
}

function commentsOf(repository: Repository, pull: number, method: string, body: string): Answer {
  if (method === "GET")
    return [
      200,
      repository.comments
        .filter((one) => one.pull === pull)
        .map(({ id, login, body: text }) => ({ id, body: text, user: { login } })),
    ];
  return [201, { id: addComment(repository, pull, "windlass-bot", body).id }];
}

function hooksOf(
  repository: Repository,
  method: string,
  id: string | undefined,
  body: Readonly<Record<string, unknown>>,
): Answer {
  if (method === "GET")
    return [200, repository.hooks.map((hook) => ({ id: hook.id, config: { url: hook.url } }))];
  const hook = saveHook(repository, id, body["config"] ?? {});
  return hook ? [201, { id: hook.id, config: { url: hook.url } }] : [404, {}];
}

const fileJson = (filename: string) => ({ filename });

const pullJson = (repository: Repository, pull: Pull) => ({
  number: pull.number,
  title: pull.title,
  html_url: `http://host/${repository.full_name}/pulls/${pull.number}`,
  draft: pull.isDraft,
  state: pull.state,
  merged: pull.merge !== null,
  merge_commit_sha: pull.merge,
  user: { id: 3, login: pull.author },
  head: { ref: pull.head, sha: pull.sha, repo_id: pull.isFork ? 99 : repository.id },
  base: { ref: pull.base, sha: repository.branches.get(pull.base), repo_id: repository.id },
});
