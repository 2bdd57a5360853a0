/**
 * A stand-in for Bitbucket Cloud, as its published description and its users say: requests name
 * commits by 12 characters, their diffstat is a redirect, and no list crosses workspaces.
 */
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

type Scope =
  | "repository"
  | "repository:write"
  | "repository:admin"
  | "pullrequest:write"
  | "webhook";

const uuidOf = (id: number): string => `{${id.toString(16).padStart(8, "0")}-0000-4000-8000-0}`;

/** Starts a host with these tokens and their scopes; all of them belong to "Windlass". */
export async function startBitbucket(tokens: Readonly<Record<string, readonly Scope[]>>) {
  const host = await startStandIn("/2.0", (call, url) => {
    const scopes = tokens[call.headers.authorization?.replace("Bearer ", "") ?? ""];
    if (!scopes) return [401, errorOf("Token is invalid or not supported for this endpoint.")];
    const found = routes(call);
    if (!found) return notFound;
    const { operation, handler, parts } = found;
    const needed = /pullrequests/.test(operation)
      ? "pullrequest:write"
      : /hooks/.test(operation)
        ? "webhook"
        : call.method === "GET"
          ? undefined
          : "repository:write";
    const headers = { "x-oauth-scopes": scopes.join(", ") };
    if (needed !== undefined && !scopes.includes(needed))
      return [
        403,
        errorOf("Your credentials lack one or more required privilege scopes."),
        headers,
      ];
    const [status, value, more] = handler({ ...call, path: url }, parts) ?? notFound;
    return [status, value, { ...headers, ...more }];
  });
  const of =
    (handler: (repository: Repository, call: Call, parts: Record<string, string>) => Answer) =>
    (call: Call, parts: Readonly<Record<string, string>>): Answer => {
      const { workspace = "", repo_slug = "" } = parts;
      const found = host.repositories.find(({ id, full_name }) =>
        repo_slug.startsWith("{")
          ? uuidOf(id) === repo_slug
          : full_name === `${workspace}/${repo_slug}`,
      );
      return found ? handler(found, call, parts) : notFound;
    };
  const workspaces = () => [
    ...new Set(host.repositories.map(({ full_name }) => full_name.split("/")[0]!)),
  ];
  const repositories = "/repositories/{workspace}/{repo_slug}";
  const routes = routed({
    "GET /user": () => [200, { type: "user", display_name: "Windlass", uuid: "{w}" }],
    "GET /user/workspaces": ({ query, path }) => [
      200,
      listOf(workspaces(), query, path, (slug) => ({
        type: "workspace_access",
        administrator: false,
        workspace: { type: "workspace_base", uuid: `{${slug}}`, slug },
      })),
    ],
    "GET /repositories": () => [410, errorOf("This API is no longer supported.")],
    "GET /repositories/{workspace}": ({ query, path }, { workspace = "" }) => [
      200,
      listOf(
        host.repositories.filter(({ full_name }) => `{${full_name.split("/")[0]}}` === workspace),
        query,
        path,
        (one) => repositoryJson(one, path),
      ),
    ],
    [`GET ${repositories}`]: of((one, { path }) => [200, repositoryJson(one, path)]),
    [`GET ${repositories}/refs/branches/{name}`]: of(({ branches }, _, { name = "" }) => {
      const hash = branches.get(name);
      return hash ? [200, { name, target: { type: "commit", hash } }] : notFound;
    }),
    [`GET ${repositories}/commit/{commit}`]: of((one, _, { commit = "" }) => {
      const hash = [...one.commits].find((known) => known.startsWith(commit));
      return hash ? [200, { type: "commit", hash }] : notFound;
    }),
    [`GET ${repositories}/pullrequests`]: of((one, { query, path }) => {
      const base = /destination\.branch\.name = "([^"]+)"/.exec(query.get("q") ?? "")?.[1];
      return [
        200,
        listOf(
          openPulls(one).filter((pull) => pull.base === (base ?? pull.base)),
          query,
          path,
          (pull) => pullJson(one, pull),
        ),
      ];
    }),
    [`GET ${repositories}/pullrequests/{pull_request_id}`]: of((one, _, { pull_request_id }) => {
      const pull = one.pulls.get(Number(pull_request_id));
      return pull ? [200, pullJson(one, pull)] : notFound;
    }),
    [`GET ${repositories}/pullrequests/{pull_request_id}/diffstat`]: of(
      (one, { path }, { pull_request_id }) => {
        const pull = one.pulls.get(Number(pull_request_id));
        if (!pull) return notFound;
        const spec = `${one.full_name}:${pull.sha.slice(0, 12)}%0D${one.branches.get(pull.base)?.slice(0, 12)}`;
        const query = `?from_pullrequest_id=${pull.number}&topic=true`;
        const location = `${path}/2.0/repositories/${one.full_name}/diffstat/${spec}${query}`;
        return [302, undefined, { location }];
      },
    ),
    [`GET ${repositories}/diffstat/{spec+}`]: of((one, { query, path }, { spec = "" }) => {
      const pull = one.pulls.get(Number(query.get("from_pullrequest_id")));
      const [to = "", from = ""] = spec.split("..");
      const found = pull ? { files: pull.files } : comparedOf(one, from, to);
      if (!found) return notFound;
      const isTopic = query.get("topic") !== "false";
      const files = (!isTopic && "back" in found ? found.back : undefined) ?? found.files;
      return [200, listOf(files, query, path, diffJson)];
    }),
    [`POST ${repositories}/commit/{commit}/statuses/build`]: of(
      (one, { body }, { commit = "" }) => {
        const status = body as Record<string, string>;
        const { key = "", name, state, description, url } = status;
        if (!one.commits.has(commit)) return notFound;
        if (key.length > 40 || !url)
          return [400, errorOf("key: Ensure this value has at most 40 characters.")];
        saveStatus(one, commit, name, { ...status, target_url: url });
        return [201, { type: "build", key, name, state, description, url }];
      },
    ),
    [`POST ${repositories}/pullrequests/{pull_request_id}/comments`]: of(
      (one, { body }, { pull_request_id }) => {
        if (!one.pulls.has(Number(pull_request_id))) return notFound;
        const text = rawOf(body);
        if (text.length > 32_768) return [400, errorOf("content: too long")];
        return [201, commentJson(addComment(one, Number(pull_request_id), "Windlass", text))];
      },
    ),
    [`PUT ${repositories}/pullrequests/{pull_request_id}/comments/{comment_id}`]: of(
      (one, { body }, { comment_id }) => {
        const changed = changeComment(one, comment_id, rawOf(body));
        return changed ? [200, commentJson(changed)] : notFound;
      },
    ),
    "GET /workspaces/{workspace}/permissions/repositories/{repo_slug}": of(
      ({ writers }, { query, path }) => {
        const uuid = /user\.uuid="([^"]+)"/.exec(query.get("q") ?? "")?.[1] ?? "";
        const found = uuid === "unknown" ? [] : [writers.has(uuid) ? "write" : "read"];
        return [
          200,
          listOf(found, query, path, (permission) => ({
            type: "repository_permission",
            permission,
          })),
        ];
      },
    ),
    [`GET ${repositories}/hooks`]: of(({ hooks }, { query, path }) => [
      200,
      listOf(hooks, query, path, hookJson),
    ]),
    [`POST ${repositories}/hooks`]: of((one, { body }) => {
      const hook = saveHook(one, undefined, body);
      return hook ? [201, hookJson(hook)] : notFound;
    }),
    [`PUT ${repositories}/hooks/{uid}`]: of((one, { body }, { uid }) => {
      const hook = saveHook(one, uid?.replaceAll(/[{}]/g, ""), body);
      return hook ? [200, hookJson(hook)] : notFound;
    }),
  });
  return host;
}

const errorOf = (message: string) => ({ type: "error", error: { message } });
const notFound: Answer = [404, errorOf("Resource not found")];

function listOf<T>(
  all: readonly T[],
  query: URLSearchParams,
  url: string,
  show: (one: T) => object,
) {
  const { items, hasNext } = paged(all, query, { name: "pagelen", default: 10, most: 100 });
  const page = Number(query.get("page") ?? 1);
  return {
    values: items.map(show),
    page,
    ...(hasNext ? { next: `${url}/2.0/next?page=${page + 1}` } : {}),
  };
}

const rawOf = ({ content }: Call["body"]): string => (content as { raw: string }).raw;

const repositoryJson = ({ id, full_name }: Repository, url: string) => ({
  type: "repository",
  uuid: uuidOf(id),
  full_name,
  is_private: true,
  mainbranch: { type: "branch", name: "main" },
  links: {
    clone: [
      { name: "https", href: `${url.replace("//", "//windlass@")}/${full_name}.git` },
      { name: "ssh", href: `ssh://git@bitbucket.org/${full_name}.git` },
    ],
  },
});

const pullJson = (repository: Repository, pull: Pull) => ({
  type: "pullrequest",
  id: pull.number,
  title: pull.title,
  state: pull.merge ? "MERGED" : pull.state === "open" ? "OPEN" : "DECLINED",
  draft: pull.isDraft,
  merge_commit: pull.merge && { hash: pull.merge.slice(0, 12) },
  author: pull.author === "ghost" ? null : { type: "user", uuid: "{3}", display_name: pull.author },
  source: {
    branch: { name: pull.head },
    commit: { hash: pull.sha.slice(0, 12) },
    repository: {
      type: "repository",
      full_name: repository.full_name,
      uuid: uuidOf(pull.isFork ? repository.id + 1 : repository.id),
    },
  },
  destination: {
    branch: { name: pull.base },
    commit: { hash: repository.branches.get(pull.base)?.slice(0, 12) },
    repository: {
      type: "repository",
      full_name: repository.full_name,
      uuid: uuidOf(repository.id),
    },
  },
  links: {
    html: { href: `https://bitbucket.org/${repository.full_name}/pull-requests/${pull.number}` },
  },
});

function diffJson(name: string) {
  const [old = name, path = old] = name.split(" -> ");
  return {
    type: "diffstat",
    status: path === old ? "added" : "renamed",
    old: path === old ? null : { type: "commit_file", path: old },
    new: { type: "commit_file", path },
  };
}

const commentJson = ({ id, body }: Repository["comments"][number]) => ({
  type: "pullrequest_comment",
  id,
  content: { raw: body },
});

const hookJson = ({ id, url }: Repository["hooks"][number]) => ({
  type: "webhook_subscription",
  uuid: `{${id}}`,
  url,
  active: true,
});
