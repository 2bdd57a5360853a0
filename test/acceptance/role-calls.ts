/** Calls the routes of a server as callers with roles, and compares the responses with the rules. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { sessionToken } from "../../control-plane/services/people/credentials.ts";
import { startSession } from "../../control-plane/services/people/logins.ts";
import { teamHeader } from "../../protocol/limits.ts";
import { roles, type Role } from "../../protocol/roles.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { ruleOf } from "./route-rules.ts";
import { ask, clientHeaders, type Plane, type TestResponse } from "../helpers/plane/plane.ts";
import type { makeSpace } from "../helpers/plane/role-space.ts";
import type { ServedRoute } from "../helpers/plane/routes.ts";
import { openPerson, origin } from "../helpers/people/sign-in.ts";
import { bodyOf, join, type GivenRoles } from "../helpers/people/teams.ts";

/** The least role; `person`: no access token; `other`: a credential of another kind, or none. */
export type Rule = Role | "person" | "other";

/**
 * What is allowed, but refused for another reason in this space: the status that shows that the
 * permission was there.
 */
const otherwise: Record<string, number> = {
  // There is no approval rule, the caller is no access token, and no account is connected.
  "POST /api/jobs/:id/approvals": 409,
  "GET /api/cli/access-tokens/current": 404,
  "GET /api/cli/repositories/:git_provider": 409,
  "DELETE /api/cli/teams/:slug": 409,
  // Nothing is deployed.
  "POST /api/cli/configurations/:name/check-drift": 409,
  // For the people whom WINDLASS_OPERATORS names.
  "GET /operator": 404,
  "POST /operator/people/:user/sign-out": 404,
  "POST /operator/people/:user/block": 404,
  "POST /operator/people/:user/unblock": 404,
  // There is no such host.
  "GET /api/cli/connections/:id/repositories": 424,
  "POST /api/cli/connections/:id/check": 424,
  "POST /api/cli/connections/:id/webhooks": 424,
  "GET /connections/:id/repositories": 424,
  "POST /connections/:id/check": 424,
  // An identity of `aws` has no tokens.
  "GET /api/cli/cloud-identities/:id/terraform": 400,
  // Nothing was planned.
  "GET /jobs/:id/graph": 404,
  // No debug log and no summary were stored.
  "GET /api/cli/jobs/:id/debug-log": 404,
  "GET /api/cli/jobs/:id/plan": 404,
  // A runner holds the state's lock.
  "POST /api/cli/configurations/:name/state/versions": 423,
  "POST /api/cli/configurations/:name/state/versions/:serial/rollback": 423,
};

export type Space = Awaited<ReturnType<typeof makeSpace>>;

/** How a caller is known to the server. */
export const kinds = ["token", "cli", "session"] as const;
export type Kind = (typeof kinds)[number];
export type Headers = Record<string, string>;

export interface Credentials {
  readonly userId: string;
  readonly cli: Headers;
  readonly session: Headers;
}

export const isPage = ({ endpoint, url }: ServedRoute): boolean =>
  endpoint === undefined &&
  !/^\/(assets|design|docs|problems|login|api|healthz|readyz|metrics)/.test(url);

/** The fields of a form: none, or the least with which it finds what to change. */
const formOf = (url: string): string =>
  /\/(variables|environment|backend_config)$/.test(url) ? "do=add&name=region&value=north" : "";

/** The routes in an order in which each finds its thing: what deletes, and what signs out, at the end. */
const inOrder = (called: readonly ServedRoute[]): ServedRoute[] =>
  called.toSorted((a, b) => rankOf(a) - rankOf(b));

function rankOf({ method, url }: ServedRoute): number {
  if (url === "/logout" || url.includes("/logins/:id")) return 2;
  const deletes =
    (method === "DELETE" && !url.endsWith("/lock") && !url.includes("/zones/:zone_id")) ||
    /\/(delete|remove|revoke|team)$/.test(url);
  return deletes ? 1 : 0;
}

/** The least role of a kind of caller for a route; `other`: no such caller may. */
export function leastRole(kind: Kind, route: ServedRoute): Rule {
  const { who, least } = ruleOf(route);
  if (kind === "cli" && route.url === "/api/auth/cli/generate") return "other";
  if (kind === "token" && who === "person") return "person";
  return least ?? "other";
}

const counts = { allowed: 0, refused: 0 };

/** A page was shown or a form read, although its empty fields may be refused. */
const isServed = ({ status, headers }: TestResponse): boolean =>
  (status < 400 && !String(headers["location"]).startsWith("/login?")) ||
  [400, 409, 422, 423].includes(status);

export const report = (wrong: readonly string[]): void => {
  process.stdout.write(`${JSON.stringify(counts)}, ${wrong.length} wrong\n`);
  expect(wrong).toEqual([]);
};

/** Needs no credential. */
export const isOpen = (url: string): boolean =>
  /^\/(healthz|readyz|metrics|openapi\.json|\.well-known\/|api\/auth\/|api\/workers\/proof)/.test(
    url,
  );

/** The callers of a server. */
export function callersOf(plane: Plane) {
  /** A new user with a client and a browser. */
  async function newPerson(): Promise<Credentials> {
    const { id: userId, headers } = await openPerson(plane);
    const cli = await clientHeaders(plane, { id: userId, zone: "" });
    return { userId, cli, session: headers };
  }

  /** A session of a user who is written to the store. */
  async function sessionOf(id: string): Promise<Headers> {
    const { store, now } = plane.context;
    const person = { id, email: `${id}@example.com` };
    const way = { way: "test", origin };
    const signedIn = await store.write((tx) => startSession(tx, person, way, now()));
    const token = await sessionToken(plane.context, signedIn);
    return { cookie: `windlass_session=${token}`, origin: plane.url };
  }

  /** A new member, in the team without saying so in every request. */
  async function newMember({ admin, slug }: Space, given: GivenRoles): Promise<Credentials> {
    const person = await newPerson();
    await join(plane, admin, slug, { id: person.userId }, given);
    const team = { [teamHeader]: slug };
    return { ...person, cli: { ...person.cli, ...team }, session: { ...person.session, ...team } };
  }

  const newToken = ({ client }: Space, given: GivenRoles, name = "ci") =>
    client.call("createAccessToken", { body: { name, ...bodyOf(given) } });

  /** The login of these headers. */
  async function loginOf(headers: Headers): Promise<string> {
    const { logins } = await callsOf(plane, headers).call("listLogins");
    return logins.find(({ current }) => current)?.id ?? "";
  }

  /** Sends a request about the things of a space that its rule would permit. */
  function send(
    space: Space,
    { method, url, endpoint }: ServedRoute,
    headers: Headers,
    login?: string,
  ): Promise<TestResponse> {
    const isArchive = url === "/api/cli/archives";
    const isForm = endpoint === undefined && method === "POST";
    const type = isArchive ? "application/gzip" : isForm ? "application/x-www-form-urlencoded" : "";
    const body = isArchive
      ? Buffer.of(0x1f, 0x8b, ...randomBytes(20))
      : isForm
        ? formOf(url)
        : undefined;
    return ask(plane, method, space.pathOf(method, url, login), {
      headers: {
        ...headers,
        ...(url.endsWith("/stream") ? { "last-event-id": "0" } : {}),
        ...(type === "" ? {} : { "content-type": type }),
      },
      ...(body === undefined ? { json: space.bodies[`${method} ${url}`] } : { body }),
    });
  }

  /** Calls every route about the things of a space as one caller. Returns the wrong responses. */
  async function check(
    space: Space,
    kind: Kind,
    role: Role | "dead",
    headers: Headers,
    called: readonly ServedRoute[],
    ruleOfKind: typeof leastRole = leastRole,
  ): Promise<string[]> {
    const wrong: string[] = [];
    const login = kind === "token" || role === "dead" ? undefined : await loginOf(headers);
    for (const route of inOrder(called)) {
      const key = `${route.method} ${route.url}`;
      const rule = ruleOfKind(kind, route);
      if (rule === "other" && isOpen(route.url)) continue;
      const answer = await send(space, route, headers, login);
      const { status } = answer;
      const isNoCredential =
        rule === "other" ||
        role === "dead" ||
        (kind === "token" && key === "POST /api/auth/cli/generate");
      const isRefused = isNoCredential
        ? // Wrong release secrets are limited.
          status === 401 || status === 429
        : rule === "person" || roles.indexOf(role) < roles.indexOf(rule);
      const isPermitted = !isNoCredential && !isRefused;
      const isRight = isNoCredential
        ? isRefused
        : isRefused
          ? status === 403 && (isPage(route) || answer.json()["code"] === "permission_denied")
          : isPage(route)
            ? isServed(answer) || status === otherwise[key]
            : status < 300 || status === otherwise[key];
      if (!isRight)
        wrong.push(`${role} by ${kind}: ${key}: ${status} ${answer.text.slice(0, 300)}`);
      counts[isPermitted ? "allowed" : "refused"] += 1;
    }
    return wrong;
  }

  return { newPerson, sessionOf, newMember, newToken, loginOf, send, check };
}
