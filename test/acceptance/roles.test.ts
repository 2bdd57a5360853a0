/**
 * Every endpoint and page of the server, called as every role of a team: with an access token, from
 * the client and from a browser. test/acceptance/tenancy.test.ts calls them as other users.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sessionToken } from "../../control-plane/services/people/credentials.ts";
import { permissionForJob } from "../../control-plane/domain/roles.ts";
import { startSession } from "../../control-plane/services/people/logins.ts";
import { teamHeader } from "../../protocol/limits.ts";
import type { JobType } from "../../protocol/jobs.ts";
import { roles, type Role } from "../../protocol/roles.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { ruleOf } from "./route-rules.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  readRow,
  setRows,
  stateHeaders,
  type TestResponse,
} from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { makeSpace } from "../helpers/plane/role-space.ts";
import type { ServedRoute } from "../helpers/plane/routes.ts";
import { bearer, openPerson, origin } from "../helpers/people/sign-in.ts";
import { dump } from "../helpers/store/store-dump.ts";
import { join } from "../helpers/people/teams.ts";

/** The least role; `person`: no access token; `other`: a credential of another kind, or none. */
type Rule = Role | "person" | "other";

const { plane, routes } = planeForFile({ WINDLASS_OFFLINE_SECONDS: "3600" });

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

type Space = Awaited<ReturnType<typeof makeSpace>>;

/** How a caller is known to the server. */
const kinds = ["token", "cli", "session"] as const;
type Kind = (typeof kinds)[number];
type Headers = Record<string, string>;

interface Credentials {
  readonly userId: string;
  readonly cli: Headers;
  readonly session: Headers;
}

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
async function newMember({ admin, slug }: Space, role: Role): Promise<Credentials> {
  const person = await newPerson();
  await join(plane, admin, slug, { id: person.userId }, role);
  const team = { [teamHeader]: slug };
  return { ...person, cli: { ...person.cli, ...team }, session: { ...person.session, ...team } };
}

const newToken = ({ client }: Space, role: Role, name = "ci") =>
  client.call("createAccessToken", { body: { name, role } });

/** The login of these headers. */
async function loginOf(headers: Headers): Promise<string> {
  const { logins } = await callsOf(plane, headers).call("listLogins");
  return logins.find(({ current }) => current)?.id ?? "";
}

const isPage = ({ endpoint, url }: ServedRoute): boolean =>
  endpoint === undefined &&
  !/^\/(assets|design|docs|problems|login|api|healthz|readyz|metrics)/.test(url);

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
function leastRole(kind: Kind, route: ServedRoute): Rule {
  const { who, least } = ruleOf(route);
  if (kind === "cli" && route.url === "/api/auth/cli/generate") return "other";
  if (kind === "token" && who === "person") return "person";
  return least ?? "other";
}

const counts = { allowed: 0, refused: 0 };

/** Calls every route about the things of a space as one caller. Returns the wrong responses. */
async function check(
  space: Space,
  kind: Kind,
  role: Role | "dead",
  headers: Headers,
  called: readonly ServedRoute[],
): Promise<string[]> {
  const wrong: string[] = [];
  const login = kind === "token" || role === "dead" ? undefined : await loginOf(headers);
  for (const route of inOrder(called)) {
    const key = `${route.method} ${route.url}`;
    const rule = leastRole(kind, route);
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
    if (!isRight) wrong.push(`${role} by ${kind}: ${key}: ${status} ${answer.text.slice(0, 300)}`);
    counts[isPermitted ? "allowed" : "refused"] += 1;
  }
  return wrong;
}

/** A page was shown or a form read, although its empty fields may be refused. */
const isServed = ({ status, headers }: TestResponse): boolean =>
  (status < 400 && !String(headers["location"]).startsWith("/login?")) ||
  [400, 409, 422, 423].includes(status);

const report = (wrong: readonly string[]): void => {
  process.stdout.write(`${JSON.stringify(counts)}, ${wrong.length} wrong\n`);
  expect(wrong).toEqual([]);
};

describe("a member", () => {
  const called = () => routes.filter(({ endpoint }) => endpoint !== undefined);

  it("may do what the role permits and nothing else, by token, client and browser", async () => {
    const wrong: string[] = [];
    for (const role of roles)
      for (const kind of kinds) {
        const space = await makeSpace(plane);
        const headers =
          kind === "token"
            ? bearer((await newToken(space, role)).access_token)
            : (await newMember(space, role))[kind];
        wrong.push(...(await check(space, kind, role, headers, called())));
      }
    report(wrong);
  });

  it("may use the pages and forms of the console that the role permits, and no other", async () => {
    const wrong: string[] = [];
    for (const role of roles) {
      const space = await makeSpace(plane);
      const { session } = await newMember(space, role);
      wrong.push(...(await check(space, "session", role, session, routes.filter(isPage))));
    }
    report(wrong);
  });
});

/** What the token of a running job may do to the state of its configuration, beyond the routes. */
const stateRules: readonly [type: JobType, replaces: 200 | 409][] = [
  ["PLAN", 409],
  ["DEPLOY", 200],
  ["DESTROY", 200],
];

it("a job may replace the state only if who created it had to be a deployer", async () => {
  for (const [job_type, status] of stateRules) {
    expect(status === 200).toBe(permissionForJob(job_type, false) === "deploy");
    const { id, pathOf } = await makeSpace(plane);
    const path = pathOf("POST", "/api/state/:spec_id");
    const spec_id = path.split("/").at(-1) ?? "";
    await setRows(plane, "jobs", { released_at: 1 }, { spec_id });
    await setRows(plane, "state_locks", { job_id: "gone" }, { spec_id });
    await setRows(plane, "state_versions", { resource_count: 3 }, { spec_id });
    const owner = { id, zone: (await readRow(plane, "specs", { id: spec_id })).zone_id };
    const worker = await addTestWorker(plane, owner);
    const job = await addHeldJob(plane, owner, worker, { spec_id, job_type });
    await setRows(plane, "state_locks", { job_id: job.id }, { spec_id });
    const { lineage } = await readRow(plane, "state_versions", { spec_id });
    const json = { version: 4, serial: 2, lineage, outputs: {}, resources: [] };
    const headers = stateHeaders(plane, job);
    const answer = await ask(plane, "POST", `${path}?ID=lock`, { headers, json });
    expect([job_type, answer.status]).toEqual([job_type, status]);
  }
});

it("a person may do everything with their own things, whatever they are in a team", async () => {
  const wrong: string[] = [];
  const inTeam = ({ url }: ServedRoute) => url.includes("/teams/:slug");
  for (const kind of ["cli", "session"] as const) {
    const space = await makeSpace(plane, true);
    const team = await makeSpace(plane);
    const { id, headers } = space.admin;
    await join(plane, team.admin, team.slug, space.admin, "viewer");
    const own = kind === "cli" ? headers : await sessionOf(id);
    const called = routes.filter((one) => one.endpoint !== undefined && !inTeam(one));
    wrong.push(...(await check(space, kind, "admin", own, called)));
  }
  report(wrong);
});

it("no credential that has ended, or is of another team, opens anything of a team", async () => {
  const [space, elsewhere] = [await makeSpace(plane), await makeSpace(plane)];
  const admin = await newMember(elsewhere, "admin");
  const removed = await newMember(space, "admin");
  const own = callsOf(plane, removed.cli);
  const kept = await own.call("createAccessToken", {
    body: { name: "kept by", role: "admin" },
  });
  const params = { slug: space.slug, user_id: removed.userId };
  await space.admin.client.call("removeMember", { params });
  const [expired, revoked] = [
    await newToken(space, "admin", "expired"),
    await newToken(space, "admin", "revoked"),
  ];
  await setRows(plane, "access_tokens", { expires_at: 1 }, { id: expired.id });
  await space.client.call("revokeAccessToken", { params: { id: revoked.id } });
  const outsiders: Record<string, Headers> = {
    "a caller without a credential": {},
    "an admin of another team": admin.cli,
    "an admin of another team in a browser": admin.session,
    "an admin's token of another team": bearer((await newToken(elsewhere, "admin")).access_token),
    "a viewer of another team": (await newMember(elsewhere, "viewer")).cli,
    "a removed admin": removed.cli,
    "a removed admin in a browser": removed.session,
    "a removed admin's token": bearer(kept.access_token),
    "an expired token": bearer(expired.access_token),
    "a revoked token": bearer(revoked.access_token),
  };
  const stored = async () =>
    (await dump(plane)).filter((line) => [space.id, space.mark].some((one) => line.includes(one)));
  const before = await stored();
  const wrong: string[] = [];
  let asked = 0;
  for (const [name, { [teamHeader]: _, ...plain }] of Object.entries(outsiders))
    for (const headers of [plain, { ...plain, [teamHeader]: space.slug }])
      for (const route of routes) {
        const { method, url, endpoint } = route;
        const isAbout = teamHeader in headers || url.includes(":");
        // An invitation is for a person outside the team; the others belong to no space.
        const isOwn =
          /^\/(logout|invitations)|\/auth\/|^\/login/.test(url) || !(endpoint || isPage(route));
        const isForAll =
          endpoint !== undefined && leastRole("cli", route) === "other" && isOpen(url);
        if (!isAbout || isOwn || isForAll) continue;
        const answer = await send(space, route, headers, randomUUID());
        asked += 1;
        const isLogin =
          answer.status === 303 && String(answer.headers["location"]).startsWith("/login");
        const isRefused = (answer.status >= 400 && answer.status < 500) || isLogin;
        if (!isRefused || answer.text.includes(space.mark))
          wrong.push(`${name}: ${method} ${url}: ${answer.status} ${answer.text.slice(0, 300)}`);
      }
  process.stdout.write(`${asked} requests from outside, ${wrong.length} accepted\n`);
  expect(wrong).toEqual([]);
  expect(await stored()).toEqual(before);
});

/** Needs no credential. */
const isOpen = (url: string): boolean =>
  /^\/(healthz|readyz|metrics|openapi\.json|\.well-known\/|api\/auth\/|api\/workers\/proof)/.test(
    url,
  );
