/**
 * A stand-in for Forgejo and Gitea, as Gitea 1.26 answered: scopes are checked before paths, a status
 * on an unknown commit is a 500, lists of comments have no pages, and there are no rate limits.
 */
import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../network/listen.ts";

interface Repository {
  readonly id: number;
  full_name: string;
  readonly branches: Map<string, string>;
  readonly pulls: Map<number, Pull>;
  /** The files that differ between two commits, by `from...to`; others are not known any more. */
  readonly compared: Map<string, string[]>;
  /** By commit and context; the newest counts. */
  readonly statuses: Map<string, { state: string; description: string; target_url: string }>;
  readonly comments: { id: number; pull: number; login: string; body: string }[];
  readonly hooks: { id: number; url: string; secret: string }[];
}

export interface Pull {
  readonly number: number;
  title: string;
  readonly author: string;
  readonly head: string;
  sha: string;
  readonly base: string;
  readonly files: string[];
  isFork: boolean;
  isDraft: boolean;
  state: "open" | "closed";
  merge: string | null;
}

type Scope = "read:repository" | "write:repository" | "write:issue";

/** Starts a host with these tokens and their scopes; all of them belong to `windlass-bot`. */
export async function startForgejo(tokens: Readonly<Record<string, readonly Scope[]>>) {
  const repositories: Repository[] = [];
  const requests: string[] = [];
  const fault: { answer?: { status: number; headers?: Record<string, string>; text?: string } } =
    {};
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const send = (status: number, value?: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(value === undefined ? "" : JSON.stringify(value));
    };
    requests.push(`${request.method} ${request.url}`);
    if (fault.answer) {
      response.writeHead(fault.answer.status, fault.answer.headers);
      return void response.end(fault.answer.text ?? "");
    }
    const body = await read(request);
    const scopes = tokens[request.headers.authorization?.replace("token ", "") ?? ""];
    if (!scopes) return send(401, { message: "invalid username, password or token" });
    const { pathname, searchParams } = new URL(request.url ?? "", "http://host");
    const path = pathname.replace("/api/v1", "");
    if (path === "/user") return send(200, { id: 7, login: "windlass-bot" });
    const missing = lacking(request.method ?? "", path, scopes);
    if (missing)
      return send(403, {
        message: `token does not have at least one of required scope(s), required=[${missing}]`,
      });
    const limit = Math.min(Number(searchParams.get("limit") ?? 30), 50);
    const from = (Number(searchParams.get("page") ?? 1) - 1) * limit;
    const paged = <T>(all: readonly T[]) => all.slice(from, from + limit);
    if (path === "/user/repos") return send(200, paged(repositories.map(repositoryJson)));
    const byId = /^\/repositories\/(\d+)$/.exec(path);
    const [, name = "", rest = ""] = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(path) ?? [];
    const repository = repositories.find((one) =>
      byId ? String(one.id) === byId[1] : one.full_name === decodeURIComponent(name),
    );
    if (!repository) return send(404, { message: "The target couldn't be found." });
    if (byId || rest === "") return send(200, repositoryJson(repository));
    const [status, value] = answerOf(repository, request.method ?? "", rest, body, paged);
    send(status, value);
  };
  const listening = await listen(createServer((...call) => void serve(...call)));

  function repositoryJson({ id, full_name }: Repository) {
    const clone_url = `${listening.url}/${full_name}.git`;
    return { id, full_name, clone_url, default_branch: "main", empty: false, private: true };
  }

  return {
    ...listening,
    repositories,
    requests,
    /** What every request gets while it is set. */
    fault,
    addRepository: (full_name: string): Repository => {
      const repository: Repository = {
        id: repositories.length + 1,
        full_name,
        branches: new Map(),
        pulls: new Map(),
        compared: new Map(),
        statuses: new Map(),
        comments: [],
        hooks: [],
      };
      repositories.push(repository);
      return repository;
    },
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

type Answer = readonly [status: number, value?: unknown];

function answerOf(
  repository: Repository,
  method: string,
  rest: string,
  body: Readonly<Record<string, unknown>>,
  paged: <T>(all: readonly T[]) => T[],
): Answer {
  const known = () =>
    new Set([
      ...repository.branches.values(),
      ...[...repository.pulls.values()].map(({ sha }) => sha),
    ]);
  const branch = /^\/branches\/(.+)$/.exec(rest)?.[1];
  if (branch !== undefined) {
    const id = repository.branches.get(decodeURIComponent(branch));
    return id
      ? [200, { name: branch, commit: { id } }]
      : [404, { message: "branch does not exist" }];
  }
  if (rest === "/pulls")
    return [
      200,
      paged(
        [...repository.pulls.values()]
          .filter(({ state }) => state === "open")
          .map((pull) => pullJson(repository, pull)),
      ),
    ];
  const [, number, part] = /^\/pulls\/(\d+)(\/files)?$/.exec(rest) ?? [];
  if (number !== undefined) {
    const pull = repository.pulls.get(Number(number));
    if (!pull) return [404, {}];
    return part
      ? [200, paged(pull.files.map((filename) => ({ filename })))]
      : [200, pullJson(repository, pull)];
  }
  const compared = /^\/compare\/(.+)$/.exec(rest)?.[1];
  if (compared !== undefined) {
    const files = repository.compared.get(compared);
    const commits = [{ files: files?.map((filename) => ({ filename })) }];
    return files ? [200, { total_commits: 1, commits }] : [404, {}];
  }
  const commit = /^\/statuses\/(.+)$/.exec(rest)?.[1];
  if (commit !== undefined) {
    if (!known().has(commit)) return [500, { message: "object does not exist" }];
    const { context, state, description, target_url } = body as Record<string, string>;
    repository.statuses.set(`${commit} ${context}`, {
      state: state!,
      description: description!,
      target_url: target_url!,
    });
    return [201, {}];
  }
  const issue = /^\/issues\/(\d+)\/comments$/.exec(rest)?.[1];
  if (issue !== undefined)
    return commentsOf(repository, Number(issue), method, String(body["body"]));
  const comment = /^\/issues\/comments\/(\d+)$/.exec(rest)?.[1];
  if (comment !== undefined) {
    const found = repository.comments.find(({ id }) => String(id) === comment);
    if (!found) return [404, {}];
    found.body = String(body["body"]);
    return [200, { id: found.id }];
  }
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
  const id = repository.comments.length + 1;
  repository.comments.push({ id, pull, login: "windlass-bot", body });
  return [201, { id }];
}

function hooksOf(
  repository: Repository,
  method: string,
  id: string | undefined,
  body: Readonly<Record<string, unknown>>,
): Answer {
  const { url = "", secret = "" } = (body["config"] ?? {}) as { url?: string; secret?: string };
  if (method === "GET")
    return [200, repository.hooks.map((hook) => ({ id: hook.id, config: { url: hook.url } }))];
  if (id === undefined) repository.hooks.push({ id: repository.hooks.length + 1, url, secret });
  else repository.hooks.find((hook) => String(hook.id) === id)!.secret = secret;
  return [201, {}];
}

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

async function read(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString();
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
}
