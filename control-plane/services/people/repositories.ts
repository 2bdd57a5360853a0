/** The repositories of a user at a code host, through the host's own paging. */
import type { Repository, RepositoryList } from "../../../protocol/repositories.ts";
import type { UserCaller } from "../callers.ts";
import { getJson, unavailable } from "./provider-http.ts";
import { listOf, objectOf } from "./provider-person.ts";
import { apiOf, type CodeHost } from "../../domain/providers.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { providerToken } from "./accounts.ts";
import { githubScopes, lacksRepositories } from "./oauth-client.ts";
import type { Context } from "../context.ts";

/** The largest page that all three hosts accept. */
const pageSize = 100;
/** A list without `limit` ends after this many pages, with a cursor. */
const pagesAtOnce = 20;

interface Host {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly sizeName: string;
  /** Query names of the host's link to the next page; a cursor contains nothing else. */
  readonly cursorNames: readonly string[];
  page(json: unknown, headers: Headers): { items: Fields[]; next: string | undefined };
  repository(item: Fields): Repository;
}
type Fields = Readonly<Record<string, unknown>>;

const hosts: Readonly<Record<CodeHost, Host>> = {
  github: {
    path: "/user/repos",
    query: { sort: "created", direction: "desc" },
    sizeName: "per_page",
    cursorNames: ["page"],
    page: (json, headers) => ({ items: listOf(json), next: nextLink(headers) }),
    repository: (item) => ({
      id: textOf(item["id"]),
      full_name: textOf(item["full_name"]),
      clone_url: textOf(item["clone_url"]),
      default_branch: branchOf(item["default_branch"]),
      private: item["private"] !== false,
    }),
  },
  gitlab: {
    path: "/projects",
    query: { membership: "true", pagination: "keyset", order_by: "id", sort: "desc" },
    sizeName: "per_page",
    cursorNames: ["id_before", "id_after", "cursor", "page"],
    page: (json, headers) => ({ items: listOf(json), next: nextLink(headers) }),
    repository: (item) => ({
      id: textOf(item["id"]),
      full_name: textOf(item["path_with_namespace"]),
      clone_url: textOf(item["http_url_to_repo"]),
      default_branch: branchOf(item["default_branch"]),
      private: item["visibility"] !== "public",
    }),
  },
  bitbucket: {
    path: "/repositories",
    query: { role: "member", sort: "-created_on" },
    sizeName: "pagelen",
    cursorNames: ["page", "after", "ctx"],
    page: (json) => {
      const { values, next } = objectOf(json);
      return { items: listOf(values), next: next === undefined ? undefined : textOf(next) };
    },
    repository: (item) => {
      const links = listOf(objectOf(item["links"])["clone"]);
      const branch = item["mainbranch"];
      return {
        id: textOf(item["uuid"]),
        full_name: textOf(item["full_name"]),
        clone_url: textOf(links.find(({ name }) => name === "https")?.["href"]),
        default_branch: branch ? branchOf(objectOf(branch)["name"]) : null,
        private: item["is_private"] !== false,
      };
    },
  },
};

export async function listRepositories(
  context: Context,
  { user_id }: UserCaller,
  name: CodeHost,
  { limit, cursor }: { limit?: number; cursor?: string },
): Promise<RepositoryList> {
  const host = hosts[name];
  let position = cursor === undefined ? "" : readCursor(host, cursor);
  const token = await providerToken(context, user_id, [name]);
  const settings = context.providers[name];
  if (!settings) throw new RefusalError("provider_not_connected");
  const repositories: Repository[] = [];
  for (let pages = limit === undefined ? pagesAtOnce : 1; pages > 0; pages -= 1) {
    const query = new URLSearchParams(position);
    for (const [key, value] of Object.entries(host.query)) query.set(key, value);
    query.set(host.sizeName, String(Math.min(limit ?? pageSize, pageSize)));
    const url = `${apiOf(name, settings)}${host.path}?${query.toString()}`;
    const { json, headers } = await getJson(settings, url, token);
    // Without the scope, GitHub lists only what is public.
    if (name === "github" && lacksRepositories(githubScopes(headers.get("x-oauth-scopes"))))
      throw new RefusalError(
        "provider_not_connected",
        "GitHub is connected for sign-in only: choose Connect GitHub repositories in the settings",
      );
    const { items, next } = host.page(json, headers);
    repositories.push(...items.map(host.repository));
    if (next === undefined) return { repositories, next_cursor: null };
    position = positionOf(host, next);
  }
  return { repositories, next_cursor: Buffer.from(position).toString("base64url") };
}

/** The token must never go to an address that a response names. */
function positionOf({ cursorNames }: Host, next: string): string {
  const found = URL.parse(next, "http://host.invalid")?.searchParams ?? new URLSearchParams();
  const kept = [...found].filter(([key]) => cursorNames.includes(key));
  const position = new URLSearchParams(kept).toString();
  if (position === "" || position.length > 140)
    throw unavailable("its paging does not match its API");
  return position;
}

function readCursor({ cursorNames }: Host, cursor: string): string {
  const query = new URLSearchParams(Buffer.from(cursor, "base64url").toString());
  const keys = [...query.keys()];
  if (keys.length === 0 || keys.some((key) => !cursorNames.includes(key)))
    throw new RefusalError("invalid_cursor");
  return query.toString();
}

/** RFC 8288: `<address>; rel="next"`. */
const nextLink = (headers: Headers): string | undefined =>
  /<([^<>]*)>\s*;[^<]*\brel="?next"?/.exec(headers.get("link") ?? "")?.[1];

function textOf(value: unknown): string {
  if ((typeof value === "string" && value !== "") || typeof value === "number")
    return String(value);
  throw unavailable("its response does not match its API");
}

const branchOf = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value : null;
