/** Forgejo and Gitea. */
import { Type, type Static } from "typebox";
import type { CodeHost, EventKind, HostRepository, PullRequest } from "./code-host.ts";
import { headerOf, isSignedBy, pathOf, type HostCalls } from "./host-calls.ts";
import { likeGithub } from "./like-github.ts";

/** Pages have at most 50 entries; lists of more pages are cut (`isCut`). */
const pageSize = 50;
const filePages = 60;

const Repo = Type.Object({
  id: Type.Integer(),
  full_name: Type.String(),
  clone_url: Type.String(),
  default_branch: Type.Optional(Type.String()),
  empty: Type.Optional(Type.Boolean()),
  private: Type.Boolean(),
});
const Pull = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  html_url: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  state: Type.String(),
  merged: Type.Boolean(),
  merge_commit_sha: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  user: Type.Object({ id: Type.Integer(), login: Type.String() }),
  head: Type.Object({
    ref: Type.String(),
    sha: Type.String(),
    repo_id: Type.Optional(Type.Integer()),
  }),
  base: Type.Object({
    ref: Type.String(),
    sha: Type.Optional(Type.String()),
    repo_id: Type.Optional(Type.Integer()),
  }),
});
const File = Type.Object({
  filename: Type.String(),
  previous_filename: Type.Optional(Type.String()),
});

const repositoryOf = (repo: Static<typeof Repo>): HostRepository => ({
  id: String(repo.id),
  full_name: repo.full_name,
  clone_url: repo.clone_url,
  default_branch: repo.empty ? null : repo.default_branch || null,
  private: repo.private,
});

const pullOf = ({ html_url, user, head, base, ...pull }: Static<typeof Pull>): PullRequest => ({
  number: pull.number,
  title: pull.title,
  url: html_url,
  author: { id: String(user.id), name: user.login },
  head: { branch: head.ref, commit: head.sha },
  base: { branch: base.ref, commit: base.sha ?? null },
  is_fork: head.repo_id !== base.repo_id,
  is_draft: pull.draft === true,
});

/** Every event also carries GitHub's and Gogs' headers: only its own count. */
export const forgejoEvents: EventKind = {
  isSigned: (headers, body, secrets) =>
    isSignedBy(
      headerOf(headers, "x-forgejo-signature") ?? headerOf(headers, "x-gitea-signature"),
      body,
      secrets,
    ),
  deliveryOf: (headers) =>
    headerOf(headers, "x-forgejo-delivery") ?? headerOf(headers, "x-gitea-delivery"),
  repositoryIn: (payload) => {
    const id = (payload as { repository?: { id?: unknown } } | null)?.repository?.id;
    return typeof id === "number" ? String(id) : undefined;
  },
};

const events = ["push", "pull_request", "pull_request_sync", "issue_comment"];

const repo = ({ full_name }: { readonly full_name: string }): string =>
  `/repos/${pathOf(full_name)}`;

export function forgejo(calls: HostCalls): CodeHost {
  /** Whether a token with too few scopes is refused where one that may is told "not found". */
  const mayPost = async (path: string): Promise<boolean> =>
    (await calls.ask(path, { method: "POST", body: {}, also: [403, 404, 422] })).status !== 403;
  return {
    ...likeGithub(calls, repo, "limit", { type: "gitea" }, events),
    limits: { description: 1000, comment: 60_000, context: 255 },
    hasHtmlComments: true,

    async check() {
      const { login } = await calls.get("/user", Type.Object({ login: Type.String() }));
      // The scopes of a token are checked before its path, so a repository that is not there tells them.
      const nowhere = `/repos/${encodeURIComponent(login)}/-.windlass-check.-`;
      const [reads, writes, comments] = await Promise.all([
        calls.ask("/user/repos?limit=1", { also: [403] }).then(({ status }) => status !== 403),
        mayPost(`${nowhere}/statuses/0`),
        mayPost(`${nowhere}/issues/1/comments`),
      ]);
      return {
        account: login,
        permissions: [
          {
            name: "read:repository",
            present: reads,
            prevents: "reading repositories, branches and pull requests, and the runners' clones",
          },
          {
            name: "write:repository",
            present: writes,
            prevents: "statuses on commits, and registering webhooks",
          },
          { name: "write:issue", present: comments, prevents: "comments on pull requests" },
        ],
      };
    },

    async repositories(page, size) {
      const found = await calls.get(
        `/user/repos?page=${page}&limit=${Math.min(size, pageSize)}`,
        Type.Array(Repo),
      );
      return {
        items: found.map(repositoryOf),
        next: found.length < Math.min(size, pageSize) ? null : page + 1,
      };
    },

    repository: async (key) =>
      repositoryOf(
        await calls.get(
          "id" in key ? `/repositories/${encodeURIComponent(key.id)}` : repo(key),
          Repo,
        ),
      ),

    async head(repository, branch) {
      const found = await calls.find(
        `${repo(repository)}/branches/${encodeURIComponent(branch)}`,
        Type.Object({ commit: Type.Object({ id: Type.String() }) }),
      );
      return found && found.commit.id;
    },

    async pullRequests(repository, page) {
      const found = await calls.get(
        `${repo(repository)}/pulls?state=open&sort=newest&page=${page}&limit=${pageSize}`,
        Type.Array(Pull),
      );
      return {
        items: found.map(pullOf),
        next: found.length < pageSize ? null : page + 1,
      };
    },

    async outcomeOf(repository, number) {
      const { state, merged, merge_commit_sha } = await calls.get(
        `${repo(repository)}/pulls/${number}`,
        Pull,
      );
      return state === "open" ? null : { merged: merged ? (merge_commit_sha ?? null) : null };
    },

    async changedFiles(repository, number) {
      const paths: string[] = [];
      for (let page = 1; page <= filePages; page++) {
        const files = await calls.get(
          `${repo(repository)}/pulls/${number}/files?page=${page}&limit=${pageSize}`,
          Type.Array(File),
        );
        for (const { filename, previous_filename } of files)
          paths.push(filename, ...(previous_filename ? [previous_filename] : []));
        if (files.length < pageSize) return { paths, isCut: false };
      }
      return { paths, isCut: true };
    },

    async comparedFiles(repository, from, to) {
      const compared = (range: string) =>
        calls.get(
          `${repo(repository)}/compare/${range}`,
          Type.Object({
            total_commits: Type.Integer(),
            commits: Type.Array(Type.Object({ files: Type.Optional(Type.Array(File)) })),
          }),
        );
      const { commits, total_commits } = await compared(`${from}...${to}`);
      // What a force push dropped is not among them.
      const { total_commits: dropped } = await compared(`${to}...${from}`);
      const files = commits.flatMap(({ files: changed = [] }) => changed);
      return {
        paths: files.map(({ filename }) => filename),
        isCut:
          dropped > 0 ||
          commits.length < total_commits ||
          commits.some((one) => one.files === undefined),
      };
    },

    async findComment(repository, number, marker) {
      const { login } = await calls.get("/user", Type.Object({ login: Type.String() }));
      // The host sends all of them at once.
      const comments = await calls.get(
        `${repo(repository)}/issues/${number}/comments`,
        Type.Array(
          Type.Object({
            id: Type.Integer(),
            body: Type.String(),
            user: Type.Object({ login: Type.String() }),
          }),
        ),
      );
      const own = comments.find(
        ({ body, user }) => user.login === login && body.startsWith(marker),
      );
      return own ? String(own.id) : null;
    },
  };
}
