/**
 * A stand-in for GitLab, as its documentation and its code say: lists of 20, projects by id or path,
 * files of a request cut at a limit, and a status that may not enter the state that it is in.
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

type Scope = "api" | "read_api" | "read_repository";

/** More files of a merge request are not kept. */
const filesKept = 1000;

/** Starts a host with these tokens and their scopes; all of them belong to `windlass-bot`. */
export async function startGitlab(tokens: Readonly<Record<string, readonly Scope[]>>) {
  const host = await startStandIn("/api/v4", (call, url) => {
    const { authorization = "" } = call.headers;
    const scopes = tokens[authorization.replace("Bearer ", "")];
    if (!scopes) return [401, { message: "401 Unauthorized" }];
    const found = routes(call);
    if (!found) return [404, { error: "404 Not Found" }];
    const { handler, parts } = found;
    if (found.operation === "GET /personal_access_tokens/self") return [200, { id: 3, scopes }];
    const may = scopes.includes("api") || (call.method === "GET" && scopes.includes("read_api"));
    if (!may)
      return [
        403,
        {
          error: "insufficient_scope",
          error_description: "The request requires higher privileges than provided.",
          scope: "api",
        },
      ];
    return handler({ ...call, path: url }, parts) ?? notFound("Not Found");
  });
  const of =
    (handler: (project: Repository, call: Call, parts: Record<string, string>) => Answer) =>
    (call: Call, parts: Readonly<Record<string, string>>): Answer => {
      const { id = "" } = parts;
      const project = host.repositories.find(
        (one) => String(one.id) === id || one.full_name === id,
      );
      return project ? handler(project, call, parts) : notFound("Project Not Found");
    };
  const routes = routed({
    "GET /user": () => [200, { id: 7, username: "windlass-bot", name: "Windlass" }],
    "GET /personal_access_tokens/self": () => [200],
    "GET /projects": ({ query, path }) => [
      200,
      page(host.repositories, query).map((one) => projectJson(one, path)),
    ],
    "GET /projects/{id}": of((one, { path }) => [200, projectJson(one, path)]),
    "GET /projects/{id}/repository/branches/{branch}": of(({ branches }, _, { branch = "" }) => {
      const id = branches.get(branch);
      return id ? [200, { name: branch, commit: { id } }] : notFound("Branch Not Found");
    }),
    "GET /projects/{id}/merge_requests": of((one, { query }) => [
      200,
      page(
        openPulls(one).filter(({ base }) => base === (query.get("target_branch") ?? base)),
        query,
      ).map((pull) => requestJson(one, pull)),
    ]),
    "GET /projects/{id}/merge_requests/{iid}": of((one, _, { iid }) => {
      const pull = one.pulls.get(Number(iid));
      if (!pull) return notFound("Not found");
      const { length } = pull.files;
      const changes_count = length > filesKept ? `${filesKept}+` : String(length);
      return [200, { ...requestJson(one, pull), changes_count }];
    }),
    "GET /projects/{id}/merge_requests/{iid}/diffs": of(({ pulls }, { query }, { iid }) => {
      const pull = pulls.get(Number(iid));
      return pull
        ? [200, page(pull.files.slice(0, filesKept), query).map(diffJson)]
        : notFound("Not found");
    }),
    "GET /projects/{id}/repository/compare": of((one, { query }) => {
      const found = comparedOf(one, query.get("from") ?? "", query.get("to") ?? "");
      if (!found) return notFound("Ref Not Found");
      const isStraight = query.get("straight") === "true";
      const files = (isStraight ? found.back : undefined) ?? found.files;
      return [
        200,
        {
          diffs: files.slice(0, filesKept).map(diffJson),
          compare_timeout: files.length > filesKept,
          compare_same_ref: false,
        },
      ];
    }),
    "POST /projects/{id}/statuses/{sha}": of((one, { body }, { sha = "" }) => {
      const status = body as Record<string, string>;
      const { name, state } = status;
      if (!one.commits.has(sha)) return notFound("Commit Not Found");
      if (one.statuses.get(`${sha} ${name}`)?.state === state)
        return [
          400,
          {
            message: `Cannot transition status via :run from :${state} (Reason(s): Status cannot transition via "run")`,
          },
        ];
      saveStatus(one, sha, name, status);
      const { description, target_url } = status;
      return [201, { id: 1, sha, name, status: state, description, target_url }];
    }),
    "GET /projects/{id}/merge_requests/{iid}/notes": of((one, { query }, { iid }) => [
      200,
      page(
        [
          { id: 900, body: "assigned to @ada", system: true, author: { id: 1, username: "ada" } },
          ...one.comments.filter(({ pull }) => String(pull) === iid).map(noteJson),
        ],
        query,
      ),
    ]),
    "POST /projects/{id}/merge_requests/{iid}/notes": of((one, { body }, { iid }) => {
      if (!one.pulls.has(Number(iid))) return notFound("Not found");
      return [201, noteJson(addComment(one, Number(iid), "windlass-bot", String(body["body"])))];
    }),
    "PUT /projects/{id}/merge_requests/{iid}/notes/{note}": of((one, { body }, { note }) => {
      const changed = changeComment(one, note, String(body["body"]));
      return changed ? [200, noteJson(changed)] : notFound("Not found");
    }),
    "GET /projects/{id}/members/all": of(({ writers }, { query }) => [
      200,
      page(
        ["grace", "graceful", ...writers]
          .filter((username) => username.includes(query.get("query") ?? ""))
          .map((username, id) => ({
            id,
            username,
            state: "active",
            access_level: writers.has(username) ? 30 : 20,
          })),
        query,
      ),
    ]),
    "GET /projects/{id}/hooks": of(({ hooks }, { query }) => [
      200,
      page(hooks, query).map(({ id, url }) => ({ id, url, push_events: true })),
    ]),
    "POST /projects/{id}/hooks": of((one, { body }) => hookAnswer(one, undefined, body, 201)),
    "PUT /projects/{id}/hooks/{hook}": of((one, { body }, { hook }) =>
      hookAnswer(one, hook, body, 200),
    ),
  });
  return host;
}

const notFound = (what: string): Answer => [404, { message: `404 ${what}` }];

const page = <T>(all: readonly T[], query: URLSearchParams): T[] =>
  paged(all, query, { name: "per_page", default: 20, most: 100 }).items;

const projectJson = ({ id, full_name }: Repository, url: string) => ({
  id,
  path_with_namespace: full_name,
  http_url_to_repo: `${url}/${full_name}.git`,
  default_branch: "main",
  visibility: "private",
});

const requestJson = (repository: Repository, pull: Pull) => ({
  id: 1000 + pull.number,
  iid: pull.number,
  title: pull.title,
  web_url: `https://gitlab.com/${repository.full_name}/-/merge_requests/${pull.number}`,
  draft: pull.isDraft,
  state: pull.merge ? "merged" : pull.state === "open" ? "opened" : "closed",
  // A request whose branch has no commit yet.
  sha: pull.sha === "" ? null : pull.sha,
  merge_commit_sha: null,
  squash_commit_sha: pull.merge,
  source_branch: pull.head,
  target_branch: pull.base,
  source_project_id: pull.isFork ? null : repository.id,
  target_project_id: repository.id,
  author: { id: 3, username: pull.author },
});

function diffJson(name: string) {
  const [old_path = name, new_path = old_path] = name.split(" -> ");
  return { old_path, new_path, renamed_file: old_path !== new_path, diff: "" };
}

const noteJson = ({ id, login, body }: Repository["comments"][number]) => ({
  id,
  body,
  system: false,
  author: login === "windlass-bot" ? { id: 7, username: login } : { id: 3, username: login },
});

function hookAnswer(
  one: Repository,
  id: string | undefined,
  { url, token }: Call["body"],
  status: number,
): Answer {
  const hook = saveHook(one, id, { url: String(url), secret: String(token) });
  return hook ? [status, { id: hook.id, url: hook.url }] : notFound("Not found");
}
