/** GitHub: github.com and GitHub Enterprise Server. */
import { Type, type Static } from "typebox";
import {
  pushOf,
  type CodeHost,
  type EventKind,
  type HostRepository,
  type PullRequest,
} from "./code-host.ts";
import { headerOf, isSignedBy, pathOf, type HostCalls } from "./host-calls.ts";
import { likeGithub } from "./like-github.ts";

const pageSize = 100;
/** The host lists the first 3,000 files of a pull request, and 300 of a comparison. */
const filesListed = { pull: 3000, comparison: 300 };

const Repo = Type.Object({
  id: Type.Integer(),
  full_name: Type.String(),
  clone_url: Type.String(),
  default_branch: Type.Optional(Type.String()),
  private: Type.Boolean(),
});
const Pull = Type.Object({
  number: Type.Integer(),
  title: Type.String(),
  html_url: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  state: Type.String(),
  merged_at: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  merge_commit_sha: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  user: Type.Union([Type.Object({ id: Type.Integer(), login: Type.String() }), Type.Null()]),
  head: Type.Object({
    ref: Type.String(),
    sha: Type.String(),
    // Null once the fork is gone.
    repo: Type.Union([Type.Object({ id: Type.Integer() }), Type.Null()]),
  }),
  base: Type.Object({
    ref: Type.String(),
    sha: Type.String(),
    repo: Type.Object({ id: Type.Integer() }),
  }),
});
const File = Type.Object({
  filename: Type.String(),
  previous_filename: Type.Optional(Type.String()),
});

/** What webhooks are for; those of an App too. */
export const githubEventNames = ["push", "pull_request", "merge_group", "issue_comment"];

export const githubHeaders = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  accept: "application/vnd.github+json",
  "x-github-api-version": "2022-11-28",
});

export const githubEvents: EventKind = {
  isSigned: (headers, body, secrets) =>
    isSignedBy(headerOf(headers, "x-hub-signature-256")?.replace(/^sha256=/, ""), body, secrets),
  deliveryOf: (headers) => headerOf(headers, "x-github-delivery"),
  repositoryIn: (payload) => {
    const id = (payload as { repository?: { id?: unknown } } | null)?.repository?.id;
    return typeof id === "number" ? String(id) : undefined;
  },
  // Also when a pull request of a fork is synchronized.
  pushIn: (payload) => {
    const { after, sender } = (payload ?? {}) as { after?: unknown; sender?: { id?: unknown } };
    return pushOf(after, sender?.id);
  },
};

/** What an App or a token needs, and what does not work without it. */
export const githubNeeds = {
  contents: ["read", "reading branches, and the runners' clones"],
  pull_requests: ["write", "comments on pull requests"],
  statuses: ["write", "statuses on commits"],
  repository_hooks: ["write", "registering webhooks: they can be pasted instead"],
} as const;

const repositoryOf = (repo: Static<typeof Repo>): HostRepository => ({
  id: String(repo.id),
  full_name: repo.full_name,
  clone_url: repo.clone_url,
  default_branch: repo.default_branch ?? null,
  private: repo.private,
});

const pullOf = ({ html_url, user, head, base, ...pull }: Static<typeof Pull>): PullRequest => ({
  number: pull.number,
  title: pull.title,
  url: html_url,
  author: { id: String(user?.id ?? ""), name: user?.login ?? "ghost" },
  head: { branch: head.ref, commit: head.sha },
  base: { branch: base.ref, commit: base.sha },
  is_fork: head.repo?.id !== base.repo.id,
  is_draft: pull.draft === true,
});

const repo = (key: { readonly id: string } | { readonly full_name: string }): string =>
  "id" in key ? `/repositories/${encodeURIComponent(key.id)}` : `/repos/${pathOf(key.full_name)}`;

/** `appId`: its lists and its account are those of an installation of that App. */
export function github(
  calls: HostCalls,
  { appId }: { readonly appId?: string | undefined },
): CodeHost {
  const isApp = appId !== undefined;
  return {
    ...likeGithub(calls, repo, "per_page", { name: "web" }, githubEventNames),
    limits: { description: 140, comment: 60_000, context: 255 },
    hasHtmlComments: true,

    async check() {
      const { login } = await calls.get("/user", Type.Object({ login: Type.String() }));
      const [first] = (await this.repositories(1, 1)).items;
      if (!first)
        return {
          account: login,
          permissions: [
            {
              name: "metadata: read",
              present: false,
              prevents: "everything: no repository is reached",
            },
          ],
        };
      // Each of these changes nothing, and is refused before it is read where the permission is missing.
      const probe = async (path: string, method: "GET" | "POST" | "PATCH") =>
        (
          await calls.ask(repo(first) + path, {
            method,
            ...(method === "GET" ? {} : { body: {} }),
            also: [403, 404, 409, 422],
          })
        ).status !== 403;
      const zeros = "0".repeat(40);
      const present = {
        contents: await probe("/branches?per_page=1", "GET"),
        pull_requests: await probe("/issues/comments/0", "PATCH"),
        statuses: await probe(`/statuses/${zeros}`, "POST"),
        repository_hooks: await probe("/hooks", "POST"),
      };
      return {
        account: login,
        permissions: Object.entries(githubNeeds).map(([permission, [level, prevents]]) => ({
          name: `${permission}: ${level}`,
          present: present[permission as keyof typeof present],
          prevents,
        })),
      };
    },

    async repositories(page, size) {
      const query = `?per_page=${Math.min(size, pageSize)}&page=${page}`;
      const found = isApp
        ? (
            await calls.get(
              `/installation/repositories${query}`,
              Type.Object({ repositories: Type.Array(Repo) }),
            )
          ).repositories
        : await calls.get(`/user/repos${query}&sort=created`, Type.Array(Repo));
      return {
        items: found.map(repositoryOf),
        next: found.length < Math.min(size, pageSize) ? null : page + 1,
      };
    },

    repository: async (key) => repositoryOf(await calls.get(repo(key), Repo)),

    async head(repository, branch) {
      const found = await calls.find(
        `${repo(repository)}/git/ref/heads/${pathOf(branch)}`,
        Type.Object({ object: Type.Object({ sha: Type.String() }) }),
        { absent: [404, 409] },
      );
      return found && found.object.sha;
    },

    async mergeHeads(repository) {
      const found = await calls.find(
        `${repo(repository)}/git/matching-refs/heads/gh-readonly-queue/`,
        Type.Array(Type.Object({ object: Type.Object({ sha: Type.String() }) })),
        { absent: [404, 409] },
      );
      return (found ?? []).slice(0, pageSize).map(({ object }) => object.sha);
    },

    async pullRequests(repository, page) {
      const found = await calls.get(
        `${repo(repository)}/pulls?state=open&per_page=${pageSize}&page=${page}`,
        Type.Array(Pull),
      );
      return { items: found.map(pullOf), next: found.length < pageSize ? null : page + 1 };
    },

    async outcomeOf(repository, number) {
      const pull = await calls.get(`${repo(repository)}/pulls/${number}`, Pull);
      if (pull.state === "open") return null;
      return { merged: pull.merged_at ? (pull.merge_commit_sha ?? null) : null };
    },

    async changedFiles(repository, number) {
      const paths: string[] = [];
      let files = 0;
      for (let page = 1; page <= filesListed.pull / pageSize; page++) {
        const found = await calls.get(
          `${repo(repository)}/pulls/${number}/files?per_page=${pageSize}&page=${page}`,
          Type.Array(File),
        );
        files += found.length;
        for (const { filename, previous_filename } of found)
          paths.push(filename, ...(previous_filename ? [previous_filename] : []));
        if (found.length < pageSize) break;
      }
      return { paths, isCut: files >= filesListed.pull };
    },

    async comparedFiles(repository, from, to) {
      const { files = [], behind_by } = await calls.get(
        `${repo(repository)}/compare/${from}...${to}`,
        Type.Object({ files: Type.Optional(Type.Array(File)), behind_by: Type.Integer() }),
      );
      return {
        paths: files.flatMap(({ filename, previous_filename }) =>
          previous_filename ? [filename, previous_filename] : [filename],
        ),
        // What a force push dropped is not among them.
        isCut: behind_by > 0 || files.length >= filesListed.comparison,
      };
    },

    async findComment(repository, number, marker) {
      const Comment = Type.Object({ id: Type.Integer(), body: Type.Optional(Type.String()) });
      const login = isApp
        ? undefined
        : (await calls.get("/user", Type.Object({ login: Type.String() }))).login;
      // Ours is among the first: it is written when the first plan begins.
      for (let page = 1; page <= 10; page++) {
        const found = await calls.get(
          `${repo(repository)}/issues/${number}/comments?per_page=${pageSize}&page=${page}`,
          Type.Array(
            Type.Intersect([
              Comment,
              Type.Object({
                user: Type.Union([Type.Object({ login: Type.String() }), Type.Null()]),
                performed_via_github_app: Type.Optional(
                  Type.Union([Type.Object({ id: Type.Integer() }), Type.Null()]),
                ),
              }),
            ]),
          ),
        );
        const own = found.find(
          ({ body, user, performed_via_github_app: app }) =>
            body?.startsWith(marker) &&
            (login === undefined ? String(app?.id) === appId : user?.login === login),
        );
        if (own) return String(own.id);
        if (found.length < pageSize) return null;
      }
      return null;
    },
  };
}
