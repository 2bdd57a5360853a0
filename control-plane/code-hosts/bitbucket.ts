/** Bitbucket Cloud, by an access token of a repository, project or workspace. */
import { hash } from "node:crypto";
import { Type, type Static } from "typebox";
import {
  pushOf,
  type CodeHost,
  type EventKind,
  type HostRepository,
  type PullRequest,
} from "./code-host.ts";
import { headerOf, HostError, isSignedBy, parsed, pathOf, type HostCalls } from "./host-calls.ts";

const pageSize = 50;
const filePages = 60;
const workspacePages = 10_000;

const Repo = Type.Object({
  uuid: Type.String(),
  full_name: Type.String(),
  is_private: Type.Boolean(),
  mainbranch: Type.Optional(Type.Union([Type.Object({ name: Type.String() }), Type.Null()])),
  links: Type.Object({
    clone: Type.Array(Type.Object({ name: Type.String(), href: Type.String() })),
  }),
});
const Side = Type.Object({
  branch: Type.Object({ name: Type.String() }),
  commit: Type.Union([Type.Object({ hash: Type.String() }), Type.Null()]),
  repository: Type.Union([Type.Object({ uuid: Type.String() }), Type.Null()]),
});
const Pull = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  state: Type.String(),
  draft: Type.Optional(Type.Boolean()),
  merge_commit: Type.Optional(Type.Union([Type.Object({ hash: Type.String() }), Type.Null()])),
  author: Type.Union([
    Type.Object({ uuid: Type.Optional(Type.String()), display_name: Type.String() }),
    Type.Null(),
  ]),
  source: Side,
  destination: Side,
  links: Type.Object({ html: Type.Object({ href: Type.String() }) }),
});
const Diff = Type.Object({
  old: Type.Optional(Type.Union([Type.Object({ path: Type.String() }), Type.Null()])),
  new: Type.Optional(Type.Union([Type.Object({ path: Type.String() }), Type.Null()])),
});
const pageOf = <T extends Parameters<typeof Type.Array>[0]>(item: T) =>
  Type.Object({ values: Type.Array(item), next: Type.Optional(Type.String()) });

export const bitbucketEvents: EventKind = {
  isSigned: (headers, body, secrets) =>
    isSignedBy(headerOf(headers, "x-hub-signature")?.replace(/^sha256=/, ""), body, secrets),
  deliveryOf: (headers) => headerOf(headers, "x-request-uuid"),
  repositoryIn: (payload) => {
    const id = (payload as { repository?: { uuid?: unknown } } | null)?.repository?.uuid;
    return typeof id === "string" ? id : undefined;
  },
  pushIn: (payload) => {
    const { actor, push } = (payload ?? {}) as {
      actor?: { uuid?: unknown };
      push?: { changes?: { new?: { target?: { hash?: unknown } } | null }[] };
    };
    return pushOf(push?.changes?.at(-1)?.new?.target?.hash, actor?.uuid);
  },
};

const repositoryOf = (repo: Static<typeof Repo>): HostRepository => ({
  id: repo.uuid,
  full_name: repo.full_name,
  clone_url: cloneOf(repo.links.clone.find(({ name }) => name === "https")?.href),
  default_branch: repo.mainbranch?.name ?? null,
  private: repo.is_private,
});

/** Without the name of the account, which the host puts into it. */
function cloneOf(address: string | undefined): string {
  const url = address === undefined ? null : URL.parse(address);
  if (!url) throw new HostError("the host names no address to clone from");
  url.username = "";
  return url.href;
}

const states = { pending: "INPROGRESS", success: "SUCCESSFUL", failure: "FAILED" } as const;

// Any workspace: the id is unique.
const repo = (key: { readonly id: string } | { readonly full_name: string }): string =>
  "id" in key
    ? `/repositories/${encodeURIComponent("{}")}/${encodeURIComponent(key.id)}`
    : `/repositories/${pathOf(key.full_name)}`;

/**
 * Commits by the address of their repository and the 12 characters that pull requests name them with.
 * All connections share them, so what one API says must not stand for another one.
 */
const commits = new Map<string, string>();
const commitsKept = 20_000;

export function bitbucket(calls: HostCalls): CodeHost {
  /** Null if the commit or its repository is gone. */
  const commitOf = async ({ commit, repository }: Static<typeof Side>): Promise<string | null> => {
    if (!commit || !repository || commit.hash.length === 40) return commit?.hash ?? null;
    const path = `${repo({ id: repository.uuid })}/commit/${commit.hash}`;
    const address = calls.address(path);
    const known = commits.get(address);
    if (known !== undefined) return known;
    const found = await calls.find(path, Type.Object({ hash: Type.String() }));
    if (commits.size >= commitsKept) commits.clear();
    if (found) commits.set(address, found.hash);
    return found && found.hash;
  };

  /** Null once its head is gone. */
  const pullOf = async (pull: Static<typeof Pull>): Promise<PullRequest | null> => {
    const { id, title, draft, author, source, destination, links } = pull;
    const head = await commitOf(source);
    if (head === null) return null;
    return {
      number: id,
      title,
      url: links.html.href,
      author: { id: author?.uuid ?? "", name: author?.display_name ?? "a deleted account" },
      head: { branch: source.branch.name, commit: head },
      base: { branch: destination.branch.name, commit: await commitOf(destination) },
      is_fork: source.repository?.uuid !== destination.repository?.uuid,
      is_draft: draft === true,
    };
  };

  const diffOf = async (path: string) => {
    const paths: string[] = [];
    const query = path.includes("?") ? "&" : "?";
    for (let page = 1; page <= filePages; page++) {
      const found = await calls.get(
        `${path}${query}pagelen=${pageSize}&page=${page}`,
        pageOf(Diff),
      );
      for (const one of found.values)
        for (const side of [one.old, one.new]) if (side) paths.push(side.path);
      if (found.next === undefined) return { paths, isCut: false };
    }
    return { paths, isCut: true };
  };

  return {
    limits: { description: 255, comment: 32_000, context: 255 },
    hasHtmlComments: false,

    async check() {
      const answer = await calls.ask("/user", { also: [403] });
      const scopes = (answer.headers.get("x-oauth-scopes") ?? "").split(/[\s,]+/);
      const { display_name } =
        answer.status === 200
          ? parsed(answer, Type.Object({ display_name: Type.String() }))
          : // The token of a repository, project or workspace belongs to no person.
            { display_name: "an access token" };
      const has = (...names: string[]) => names.some((name) => scopes.includes(name));
      return {
        account: display_name,
        permissions: [
          {
            name: "repository",
            present: has("repository", "repository:write", "repository:admin"),
            prevents: "reading repositories and branches, and the runners' clones",
          },
          {
            name: "repository:write",
            present: has("repository:write", "repository:admin"),
            prevents: "statuses on commits",
          },
          {
            name: "pullrequest:write",
            present: has("pullrequest:write"),
            prevents: "reading and commenting on pull requests",
          },
          {
            name: "webhook",
            present: has("webhook"),
            prevents: "registering webhooks: they can be pasted instead",
          },
        ],
      };
    },

    async repositories(page, size) {
      // One list for each workspace; the page says which, and which page of it.
      const { values } = await calls.get(
        "/user/workspaces?pagelen=100",
        pageOf(Type.Object({ workspace: Type.Object({ uuid: Type.String() }) })),
      );
      const [index, own] = [Math.floor(page / workspacePages), page % workspacePages];
      const uuid = values[index]?.workspace.uuid;
      if (uuid === undefined) return { items: [], next: null };
      const found = await calls.get(
        `/repositories/${encodeURIComponent(uuid)}?role=member&sort=-created_on&pagelen=${Math.min(size, pageSize)}&page=${own}`,
        pageOf(Repo),
      );
      const after = values[index + 1] ? (index + 1) * workspacePages + 1 : null;
      return {
        items: found.values.map(repositoryOf),
        next: found.next === undefined ? after : page + 1,
      };
    },

    repository: async (key) => repositoryOf(await calls.get(repo(key), Repo)),

    async head(repository, branch) {
      const found = await calls.find(
        `${repo(repository)}/refs/branches/${encodeURIComponent(branch)}`,
        Type.Object({ target: Type.Object({ hash: Type.String() }) }),
      );
      return found && found.target.hash;
    },

    async pullRequests(repository, page) {
      const found = await calls.get(
        `${repo(repository)}/pullrequests?state=OPEN&pagelen=${pageSize}&page=${page}`,
        pageOf(Pull),
      );
      const pulls = [];
      for (const pull of found.values) pulls.push(await pullOf(pull));
      return {
        items: pulls.filter((pull) => pull !== null),
        next: found.next === undefined ? null : page + 1,
      };
    },

    async outcomeOf(repository, number) {
      const { state, merge_commit, destination } = await calls.get(
        `${repo(repository)}/pullrequests/${number}`,
        Pull,
      );
      if (state === "OPEN" || state === "DRAFT") return null;
      if (state !== "MERGED" || !merge_commit) return { merged: null };
      return { merged: await commitOf({ ...destination, commit: merge_commit }) };
    },

    changedFiles: async (repository, number) =>
      diffOf(await calls.redirected(`${repo(repository)}/pullrequests/${number}/diffstat`)),

    // The newer commit comes first; `topic`: not from where the two parted.
    comparedFiles: (repository, from, to) =>
      diffOf(`${repo(repository)}/diffstat/${to}..${from}?topic=false`),

    async setStatus(repository, commit, { context, state, description, url }) {
      await calls.ask(`${repo(repository)}/commit/${commit}/statuses/build`, {
        method: "POST",
        // A key has at most 40 characters.
        body: { key: hash("sha1", context), name: context, state: states[state], description, url },
      });
    },

    // Comments hold no marker here: the id is kept.
    findComment: () => Promise.resolve(null),

    async writeComment(repository, number, body, id) {
      const comments = `${repo(repository)}/pullrequests/${number}/comments`;
      const written = await calls.find(
        id === null ? comments : `${comments}/${encodeURIComponent(id)}`,
        Type.Object({ id: Type.Integer() }),
        {
          method: id === null ? "POST" : "PUT",
          body: { content: { raw: body } },
          absent: id === null ? [] : [404, 410],
        },
      );
      return written && String(written.id);
    },

    async mayWrite(repository, account) {
      const found = await calls.get(
        `/workspaces/${encodeURIComponent(repository.full_name.split("/")[0]!)}/permissions/repositories/${encodeURIComponent(repository.full_name.split("/")[1] ?? "")}?q=${encodeURIComponent(`user.uuid=${JSON.stringify(account)}`)}`,
        pageOf(Type.Object({ permission: Type.String() })),
      );
      return found.values.some(({ permission }) => permission !== "read");
    },

    async addWebhook(repository, url, secret) {
      const hooks = await calls.get(
        `${repo(repository)}/hooks?pagelen=${pageSize}`,
        pageOf(Type.Object({ uuid: Type.String(), url: Type.String() })),
      );
      const own = hooks.values.find((hook) => hook.url === url);
      await calls.ask(`${repo(repository)}/hooks${own ? `/${encodeURIComponent(own.uuid)}` : ""}`, {
        method: own ? "PUT" : "POST",
        body: {
          description: "Windlass",
          url,
          active: true,
          secret,
          events: [
            "repo:push",
            "pullrequest:created",
            "pullrequest:updated",
            "pullrequest:fulfilled",
            "pullrequest:rejected",
            "pullrequest:comment_created",
            "pullrequest:comment_deleted",
          ],
        },
      });
    },
  };
}
