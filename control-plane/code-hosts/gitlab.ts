/** GitLab: gitlab.com and self-managed, by a personal, group or project access token. */
import { equalSecrets } from "../../common/equal-secrets.ts";
import { signatureOf } from "../../common/standard-webhooks.ts";
import { Type, type Static } from "typebox";
import {
  pushOf,
  type CodeHost,
  type EventKind,
  type HostRepository,
  type PullRequest,
} from "./code-host.ts";
import { headerOf, HostError, type HostCalls } from "./host-calls.ts";

const pageSize = 100;
const filePages = 30;

const Project = Type.Object({
  id: Type.Integer(),
  path_with_namespace: Type.String(),
  http_url_to_repo: Type.String(),
  default_branch: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  visibility: Type.Optional(Type.String()),
});
const MergeRequest = Type.Object({
  iid: Type.Integer(),
  title: Type.String(),
  web_url: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  state: Type.String(),
  sha: Type.Union([Type.String(), Type.Null()]),
  merge_commit_sha: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  squash_commit_sha: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  source_branch: Type.String(),
  target_branch: Type.String(),
  source_project_id: Type.Union([Type.Integer(), Type.Null()]),
  target_project_id: Type.Integer(),
  author: Type.Object({ id: Type.Integer(), username: Type.String() }),
});
const File = Type.Object({ old_path: Type.String(), new_path: Type.String() });

/** How far the time of a signed delivery may be from ours, in seconds (Standard Webhooks). */
const oldest = 300;

export const gitlabEvents: EventKind = {
  isSigned: (headers, body, secrets) =>
    isToken(headerOf(headers, "x-gitlab-token"), secrets) ||
    isSignedStandard(headers, body, secrets),
  deliveryOf: (headers) =>
    headerOf(headers, "x-gitlab-event-uuid") ?? headerOf(headers, "idempotency-key"),
  repositoryIn: (payload) => {
    const id = (payload as { project?: { id?: unknown } } | null)?.project?.id;
    return typeof id === "number" ? String(id) : undefined;
  },
  // `oldrev` is there if a merge request was pushed to.
  pushIn: (payload) => {
    const {
      after,
      user_id,
      user,
      object_attributes: merge,
    } = (payload ?? {}) as {
      after?: unknown;
      user_id?: unknown;
      user?: { id?: unknown };
      object_attributes?: { oldrev?: unknown; last_commit?: { id?: unknown } };
    };
    return merge?.oldrev ? pushOf(merge.last_commit?.id, user?.id) : pushOf(after, user_id);
  },
};

const isToken = (given: string | undefined, secrets: readonly string[]): boolean =>
  given !== undefined && secrets.some((one) => equalSecrets(given, one));

/** The scheme of newer servers. */
function isSignedStandard(
  headers: Parameters<EventKind["isSigned"]>[0],
  body: Buffer,
  secrets: readonly string[],
): boolean {
  const [id, time, signatures] = ["id", "timestamp", "signature"].map((name) =>
    headerOf(headers, `webhook-${name}`),
  );
  if (!id || !time || !signatures || Math.abs(Date.now() / 1000 - Number(time)) > oldest)
    return false;
  const given = signatures
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => one.slice(3));
  return secrets.some((secret) => {
    const right = signatureOf(secret, { id, time, body });
    return given.some((one) => equalSecrets(one, right));
  });
}

const repositoryOf = (project: Static<typeof Project>): HostRepository => ({
  id: String(project.id),
  full_name: project.path_with_namespace,
  clone_url: project.http_url_to_repo,
  default_branch: project.default_branch ?? null,
  private: project.visibility !== "public",
});

const pullOf = (merge: Static<typeof MergeRequest>): PullRequest => ({
  number: merge.iid,
  title: merge.title,
  url: merge.web_url,
  author: { id: String(merge.author.id), name: merge.author.username },
  // A request without commits has no head.
  head: { branch: merge.source_branch, commit: merge.sha ?? "" },
  base: { branch: merge.target_branch, commit: null },
  is_fork: merge.source_project_id !== merge.target_project_id,
  is_draft: merge.draft === true,
});

const states = { pending: "pending", success: "success", failure: "failed" } as const;
/** The access of a developer, who may push. */
const developer = 30;

const project = (key: { readonly id: string } | { readonly full_name: string }): string =>
  `/projects/${encodeURIComponent("id" in key ? key.id : key.full_name)}`;
const pathsOf = (files: readonly Static<typeof File>[]): string[] =>
  files.flatMap(({ old_path, new_path }) =>
    old_path === new_path ? [new_path] : [new_path, old_path],
  );

export function gitlab(calls: HostCalls): CodeHost {
  return {
    limits: { description: 255, comment: 60_000, context: 255 },
    hasHtmlComments: true,

    async check() {
      const { username } = await calls.get("/user", Type.Object({ username: Type.String() }));
      const { scopes } = (await calls.find(
        "/personal_access_tokens/self",
        Type.Object({ scopes: Type.Array(Type.String()) }),
        { absent: [401, 403, 404] },
      )) ?? { scopes: [] };
      const writes = scopes.includes("api");
      return {
        account: username,
        permissions: [
          {
            name: "read_repository",
            present: writes || scopes.includes("read_repository"),
            prevents: "the runners' clones",
          },
          {
            name: "read_api",
            present: writes || scopes.includes("read_api"),
            prevents: "reading projects, branches and merge requests",
          },
          {
            name: "api",
            present: writes,
            prevents: "statuses on commits, comments on merge requests, and registering webhooks",
          },
        ],
      };
    },

    async repositories(page, size) {
      const found = await calls.get(
        `/projects?membership=true&order_by=id&per_page=${Math.min(size, pageSize)}&page=${page}`,
        Type.Array(Project),
      );
      return {
        items: found.map(repositoryOf),
        next: found.length < Math.min(size, pageSize) ? null : page + 1,
      };
    },

    repository: async (key) => repositoryOf(await calls.get(project(key), Project)),

    async head(repository, branch) {
      const found = await calls.find(
        `${project(repository)}/repository/branches/${encodeURIComponent(branch)}`,
        Type.Object({ commit: Type.Object({ id: Type.String() }) }),
      );
      return found && found.commit.id;
    },

    async pullRequests(repository, page) {
      const found = await calls.get(
        `${project(repository)}/merge_requests?state=opened&per_page=${pageSize}&page=${page}`,
        Type.Array(MergeRequest),
      );
      return {
        items: found.filter(({ sha }) => sha !== null).map(pullOf),
        next: found.length < pageSize ? null : page + 1,
      };
    },

    async outcomeOf(repository, number) {
      const { state, ...merge } = await calls.get(
        `${project(repository)}/merge_requests/${number}`,
        MergeRequest,
      );
      if (state === "opened" || state === "locked") return null;
      if (state !== "merged") return { merged: null };
      return { merged: merge.merge_commit_sha ?? merge.squash_commit_sha ?? merge.sha };
    },

    async changedFiles(repository, number) {
      const request = `${project(repository)}/merge_requests/${number}`;
      const { changes_count } = await calls.get(
        request,
        Type.Object({ changes_count: Type.Union([Type.String(), Type.Null()]) }),
      );
      // "1000+": the host keeps the files up to its limit.
      if (changes_count?.endsWith("+")) return { paths: [], isCut: true };
      const paths: string[] = [];
      for (let page = 1; page <= filePages; page++) {
        const found = await calls.get(
          `${request}/diffs?per_page=${pageSize}&page=${page}`,
          Type.Array(File),
        );
        paths.push(...pathsOf(found));
        if (found.length < pageSize) return { paths, isCut: false };
      }
      return { paths, isCut: true };
    },

    async comparedFiles(repository, from, to) {
      const { diffs, compare_timeout } = await calls.get(
        `${project(repository)}/repository/compare?from=${from}&to=${to}&straight=true`,
        Type.Object({ diffs: Type.Array(File), compare_timeout: Type.Boolean() }),
      );
      return { paths: pathsOf(diffs), isCut: compare_timeout };
    },

    async setStatus(repository, commit, { context, state, description, url }) {
      const answer = await calls.ask(`${project(repository)}/statuses/${commit}`, {
        method: "POST",
        body: { name: context, state: states[state], description, target_url: url },
        also: [400],
      });
      // It has that state already.
      if (answer.status === 400 && !answer.text.includes("Cannot transition"))
        throw new HostError("the host refuses the status", 400);
    },

    async findComment(repository, number, marker) {
      const { id: own } = await calls.get("/user", Type.Object({ id: Type.Integer() }));
      for (let page = 1; page <= 10; page++) {
        const found = await calls.get(
          `${project(repository)}/merge_requests/${number}/notes?sort=asc&per_page=${pageSize}&page=${page}`,
          Type.Array(
            Type.Object({
              id: Type.Integer(),
              body: Type.String(),
              author: Type.Object({ id: Type.Integer() }),
            }),
          ),
        );
        const note = found.find(({ author, body }) => author.id === own && body.startsWith(marker));
        if (note) return String(note.id);
        if (found.length < pageSize) return null;
      }
      return null;
    },

    async writeComment(repository, number, body, id) {
      const notes = `${project(repository)}/merge_requests/${number}/notes`;
      const written = await calls.find(
        id === null ? notes : `${notes}/${encodeURIComponent(id)}`,
        Type.Object({ id: Type.Integer() }),
        {
          method: id === null ? "POST" : "PUT",
          body: { body },
          absent: id === null ? [] : [404],
        },
      );
      return written && String(written.id);
    },

    async mayWrite(repository, account) {
      const users = await calls.get(
        `${project(repository)}/members/all?query=${encodeURIComponent(account)}&per_page=${pageSize}`,
        Type.Array(Type.Object({ username: Type.String(), access_level: Type.Integer() })),
      );
      return users.some(
        ({ username, access_level }) => username === account && access_level >= developer,
      );
    },

    async addWebhook(repository, url, secret) {
      const hooks = await calls.get(
        `${project(repository)}/hooks?per_page=${pageSize}`,
        Type.Array(Type.Object({ id: Type.Integer(), url: Type.String() })),
      );
      const own = hooks.find((hook) => hook.url === url);
      await calls.ask(`${project(repository)}/hooks${own ? `/${own.id}` : ""}`, {
        method: own ? "PUT" : "POST",
        body: {
          url,
          token: secret,
          push_events: true,
          merge_requests_events: true,
          note_events: true,
          enable_ssl_verification: true,
        },
      });
    },
  };
}
