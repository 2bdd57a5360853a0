/**
 * A stand-in for GitHub, for fine-grained tokens and an App. Its operations, what it takes and the
 * fields of what it answers are those of the published description; permissions are checked first.
 */
import { createHmac, randomUUID, type KeyObject } from "node:crypto";
import { createRequire } from "node:module";
import { jwtVerify } from "jose";
import { Published } from "./published.ts";
import {
  addComment,
  changeComment,
  comparedOf,
  openPulls,
  paged,
  routed,
  saveHook,
  saveStatus,
  startStandIn,
  type Answer,
  type Call,
  type Pull,
  type Repository,
} from "./stand-in.ts";

type Permission = "contents" | "pull_requests" | "statuses" | "repository_hooks";
type Permissions = Readonly<Partial<Record<Permission, "read" | "write">>>;
export const allPermissions: Permissions = {
  contents: "read",
  pull_requests: "write",
  statuses: "write",
  repository_hooks: "write",
};

interface TestApp {
  readonly id: string;
  readonly publicKey: KeyObject;
  readonly installation: number;
  readonly permissions: Permissions;
  /** Of its tokens, in milliseconds. */
  readonly lifetime?: number;
}

/** The host lists no more files of a pull request and of a comparison. */
const filesListed = { pull: 3000, comparison: 300 };

const require = createRequire(import.meta.url);
let api: Published | undefined;
let events: Published | undefined;

/** Starts a host with these tokens, which belong to `windlass-bot`, or with an App. */
export async function startGithub({
  tokens = {},
  app,
}: {
  tokens?: Readonly<Record<string, Permissions>>;
  app?: TestApp;
}) {
  const published = (api ??= new Published(
    require.resolve("@octokit/openapi/generated/api.github.com.json"),
  ));
  /** The tokens of installations that were asked for, newest last. */
  const issued: { token: string; permissions: Permissions; repositories: number[] | null }[] = [];
  const permissionsOf = (token: string): Permissions | undefined =>
    tokens[token] ?? issued.find((one) => one.token === token)?.permissions;

  const host = await startStandIn("/api/v3", async (call, url) => {
    const token = call.headers.authorization?.replace("Bearer ", "") ?? "";
    const isApp = app !== undefined && (await isSignedBy(app, token));
    const permissions = permissionsOf(token);
    if (!isApp && !permissions) return [401, { message: "Bad credentials" }];
    // Redirects from old names lead to addresses by id, which the description leaves out.
    const [, byId, rest = ""] = /^\/repositories\/(\d+)(\/.*)?$/.exec(call.path) ?? [];
    const renamed = host.repositories.find(({ id }) => String(id) === byId);
    const path = byId === undefined ? call.path : `/repos/${renamed?.full_name}${rest}`;
    const found = routes({ ...call, path });
    if (!found) return notFound;
    const { operation, handler, parts } = found;
    if (operation.includes(" /app") !== isApp)
      return [401, { message: "A JSON web token could not be decoded" }];
    if (!isApp && lacks(permissions ?? {}, operation))
      return [403, { message: "Resource not accessible by personal access token" }];
    const refusal = published.refusal(operation, call.query, call.body);
    if (refusal !== undefined) return [422, { message: `Validation Failed: ${refusal}` }];
    const [status, value, headers] = handler({ ...call, path: url }, parts) ?? notFound;
    return status < 300
      ? [status, published.answer(operation, status, value), headers ?? {}]
      : [status, value, headers ?? {}];
  });

  const of =
    (handler: (repository: Repository, call: Call, parts: Record<string, string>) => Answer) =>
    (call: Call, parts: Readonly<Record<string, string>>): Answer => {
      const name = `${parts["owner"]}/${parts["repo"]}`;
      const repository = host.repositories.find(({ full_name }) => full_name === name);
      return repository ? handler(repository, call, parts) : notFound;
    };
  const routes = routed({
    "GET /user": () => [200, { id: 7, login: "windlass-bot", type: "User" }],
    "GET /app": () => [200, { id: 5, name: "Windlass", permissions: app?.permissions }],
    "POST /app/installations/{installation_id}/access_tokens": ({ body }, parts) => {
      if (parts["installation_id"] !== String(app?.installation)) return notFound;
      const { permissions = app?.permissions ?? {}, repository_ids = null } = body as {
        permissions?: Permissions;
        repository_ids?: number[] | null;
      };
      const token = `ghs_${issued.length + 1}`;
      issued.push({ token, permissions, repositories: repository_ids });
      const expires_at = new Date(Date.now() + (app?.lifetime ?? 3_600_000)).toISOString();
      return [201, { token, expires_at, permissions }];
    },
    "GET /user/repos": ({ query, path }) => [
      200,
      page(host.repositories, query).map((one) => repositoryJson(one, path)),
    ],
    "GET /installation/repositories": ({ query, path }) => [
      200,
      {
        total_count: host.repositories.length,
        repositories: page(host.repositories, query).map((one) => repositoryJson(one, path)),
      },
    ],
    "GET /repos/{owner}/{repo}": of((one, { path }) => [200, repositoryJson(one, path)]),
    "GET /repos/{owner}/{repo}/branches": of(({ branches }, { query }) => [
      200,
      page([...branches], query).map(([name, sha]) => ({ name, commit: { sha } })),
    ]),
    "GET /repos/{owner}/{repo}/git/ref/{ref+}": of(({ branches }, _, { ref = "" }) => {
      const sha = branches.get(ref.replace(/^heads\//, ""));
      return sha ? [200, { ref: `refs/${ref}`, object: { type: "commit", sha } }] : notFound;
    }),
    "GET /repos/{owner}/{repo}/git/matching-refs/{ref+}": of(({ branches }, _, { ref = "" }) => [
      200,
      [...branches]
        .filter(([name]) => `heads/${name}`.startsWith(ref))
        .map(([name, sha]) => ({ ref: `refs/heads/${name}`, object: { type: "commit", sha } })),
    ]),
    "GET /repos/{owner}/{repo}/pulls": of((one, { query }) => [
      200,
      page(
        openPulls(one).filter(({ base }) => base === (query.get("base") ?? base)),
        query,
      ).map((pull) => pullJson(one, pull)),
    ]),
    "GET /repos/{owner}/{repo}/pulls/{pull_number}": of((one, _, { pull_number }) => {
      const pull = one.pulls.get(Number(pull_number));
      return pull ? [200, pullJson(one, pull)] : notFound;
    }),
    "GET /repos/{owner}/{repo}/pulls/{pull_number}/files": of(
      ({ pulls }, { query }, { pull_number }) => {
        const files = pulls.get(Number(pull_number))?.files;
        return files
          ? [200, page(files.slice(0, filesListed.pull), query).map(fileJson)]
          : notFound;
      },
    ),
    "GET /repos/{owner}/{repo}/compare/{basehead+}": of((one, _, { basehead = "" }) => {
      const [from = "", to = ""] = basehead.split("...");
      const found = comparedOf(one, from, to);
      if (!found) return notFound;
      const files = found.files.slice(0, filesListed.comparison).map(fileJson);
      const status = found.dropped > 0 ? "behind" : "ahead";
      return [200, { status, behind_by: found.dropped, files }];
    }),
    "POST /repos/{owner}/{repo}/statuses/{sha}": of((one, { body }, { sha = "" }) => {
      const status = body as Record<string, string>;
      const { context, state, description, target_url } = status;
      if (!one.commits.has(sha)) return [422, { message: `No commit found for SHA: ${sha}` }];
      if (Array.from(description ?? "").length > 140)
        return [422, { message: "Validation Failed: description is too long" }];
      saveStatus(one, sha, context, status);
      return [201, { context, state, description, target_url }];
    }),
    "GET /repos/{owner}/{repo}/issues/{issue_number}/comments": of(
      (one, { query }, { issue_number }) => [
        200,
        page(
          one.comments.filter(({ pull }) => String(pull) === issue_number),
          query,
        ).map((comment) => commentJson(comment, app)),
      ],
    ),
    "POST /repos/{owner}/{repo}/issues/{issue_number}/comments": of(
      (one, { body }, { issue_number }) => {
        if (!one.pulls.has(Number(issue_number))) return notFound;
        const login = app ? "windlass[bot]" : "windlass-bot";
        const comment = addComment(one, Number(issue_number), login, String(body["body"]));
        return [201, commentJson(comment, app)];
      },
    ),
    "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}": of(
      (one, { body }, { comment_id }) => {
        const changed = changeComment(one, comment_id, String(body["body"]));
        return changed ? [200, commentJson(changed, app)] : notFound;
      },
    ),
    "GET /repos/{owner}/{repo}/collaborators/{username}/permission": of(
      ({ writers }, _, { username = "" }) => {
        if (username === "unknown") return notFound;
        const permission = writers.has(username) ? "write" : "read";
        return [200, { permission, role_name: permission }];
      },
    ),
    "GET /repos/{owner}/{repo}/hooks": of(({ hooks }, { query }) => [
      200,
      page(hooks, query).map(({ id, url }) => ({ id, name: "web", config: { url } })),
    ]),
    "POST /repos/{owner}/{repo}/hooks": of((one, { body }) =>
      hookAnswer(one, undefined, body, 201),
    ),
    "PATCH /repos/{owner}/{repo}/hooks/{hook_id}": of((one, { body }, { hook_id }) =>
      hookAnswer(one, hook_id, body, 200),
    ),
  });

  return {
    ...host,
    issued,
    /** The headers and the body of a webhook. */
    event: (name: string, value: Readonly<Record<string, unknown>>, secret: string) => {
      const body = JSON.stringify(
        (events ??= new Published(require.resolve("@octokit/webhooks-schemas"))).event(name, value),
      );
      const digest = createHmac("sha256", secret).update(body).digest("hex");
      return {
        body,
        headers: {
          "content-type": "application/json",
          "user-agent": "GitHub-Hookshot/044aadd",
          "x-github-event": name.split("$")[0]!,
          "x-github-delivery": randomUUID(),
          "x-github-hook-id": "42",
          "x-hub-signature": "sha1=0",
          "x-hub-signature-256": `sha256=${digest}`,
        },
      };
    },
  };
}

const notFound: Answer = [404, { message: "Not Found", status: "404" }];

const page = <T>(all: readonly T[], query: URLSearchParams): T[] =>
  paged(all, query, { name: "per_page", default: 30, most: 100 }).items;

async function isSignedBy({ id, publicKey }: TestApp, token: string): Promise<boolean> {
  try {
    const { payload } = await jwtVerify(token, publicKey, {
      algorithms: ["RS256"],
      issuer: id,
      maxTokenAge: 600,
    });
    return (payload.exp ?? Infinity) - (payload.iat ?? 0) <= 600;
  } catch {
    return false;
  }
}

/** Whether a permission is missing: each operation needs one. */
function lacks(permissions: Permissions, operation: string): boolean {
  const [method, path = ""] = operation.split(" ");
  const level = method === "GET" ? "read" : "write";
  const needs: readonly [RegExp, Permission][] = [
    [/\/(branches|git|compare)/, "contents"],
    [/\/(pulls|issues)/, "pull_requests"],
    [/\/statuses/, "statuses"],
    [/\/hooks/, "repository_hooks"],
  ];
  const needed = needs.find(([pattern]) => pattern.test(path))?.[1];
  if (needed === undefined) return false;
  return permissions[needed] !== "write" && permissions[needed] !== level;
}

const repositoryJson = ({ id, full_name }: Repository, url: string) => ({
  id,
  full_name,
  clone_url: `${url}/${full_name}.git`,
  default_branch: "main",
  private: true,
});

const pullJson = (repository: Repository, pull: Pull) => ({
  number: pull.number,
  title: pull.title,
  html_url: `https://github.com/${repository.full_name}/pull/${pull.number}`,
  draft: pull.isDraft,
  state: pull.state,
  merged_at: pull.merge && "2026-01-02T03:04:05Z",
  // Of an open or closed one, the commit of a merge that was only tried.
  merge_commit_sha: pull.merge ?? "7".repeat(40),
  user: pull.author === "ghost" ? null : { id: 3, login: pull.author },
  head: {
    ref: pull.head,
    sha: pull.sha,
    repo: pull.isFork
      ? { id: 99, full_name: "grace/infra" }
      : { id: repository.id, full_name: repository.full_name },
  },
  base: {
    ref: pull.base,
    sha: repository.branches.get(pull.base),
    repo: { id: repository.id, full_name: repository.full_name },
  },
});

/** `old -> new`: a renamed file. */
function fileJson(name: string) {
  const [previous_filename, filename] = name.split(" -> ");
  return filename === undefined
    ? { filename: name, status: "modified" }
    : { filename, previous_filename, status: "renamed" };
}

const commentJson = (
  { id, login, body }: Repository["comments"][number],
  app: TestApp | undefined,
) => ({
  id,
  body,
  user: { id: 7, login },
  ...(app && login.endsWith("[bot]")
    ? { performed_via_github_app: { id: Number(app.id), name: "Windlass" } }
    : {}),
});

function hookAnswer(
  one: Repository,
  id: string | undefined,
  { config }: Call["body"],
  status: number,
): Answer {
  if (!config) return [422, { message: "Validation Failed: config must have a url" }];
  const hook = saveHook(one, id, config);
  return hook ? [status, { id: hook.id, name: "web", config: { url: hook.url } }] : notFound;
}
