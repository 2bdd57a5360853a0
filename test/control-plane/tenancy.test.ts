/** Every route that the server has, asked by everybody who must not, about every thing of somebody else. */
import { createHash, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, it } from "vitest";
import { signToken } from "../../control-plane/auth/jwt.ts";
import { endLogin } from "../../control-plane/services/logins.ts";
import { endpoints } from "../../protocol/endpoints.ts";
import { callsOf } from "../helpers/calls.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  jobCredential,
  startPlane,
  type Plane,
} from "../helpers/plane.ts";
import { addJob, addSpec } from "../helpers/rows.ts";
import { withRoutes, type ServedRoute } from "../helpers/routes.ts";
import { bearer, openBrowser, origin as testOrigin, signIn } from "../helpers/sign-in.ts";

/** Who may: nobody needs a credential; a person; a worker; a pipeline; a job; whoever may register; a browser (pages). */
type Rule = "open" | "person" | "worker" | "pipeline" | "job" | "registrant" | "page";

const rules: Record<string, Rule> = {
  "GET /": "page",
  "GET /jobs/:id": "page",
  "GET /cli/login": "page",
  "POST /cli/login": "page",
  "POST /logout": "page",
  "GET /login": "open",
  "GET /login/link/:token": "open",
  "GET /assets/windlass.css": "open",
  "GET /api/auth/login/:provider": "open",
  "GET /api/auth/callback": "open",
  "GET /healthz": "open",
  "GET /readyz": "open",
  "GET /metrics": "open",
  "GET /openapi.json": "open",
  "GET /docs": "open",
  "GET /docs/start.js": "open",
  "GET /docs/swagger-ui.css": "open",
  "GET /docs/swagger-ui-bundle.js": "open",
  "POST /api/auth/cli/generate": "person",
  "POST /api/auth/cli/exchange": "open",
  "POST /api/auth/cli/refresh": "open",
  "GET /api/cli/zones": "person",
  "POST /api/cli/zones": "person",
  "GET /api/cli/zones/:id": "person",
  "GET /api/cli/configurations": "person",
  "POST /api/cli/configurations": "person",
  "GET /api/cli/configurations/:name": "person",
  "GET /api/cli/configurations/by-project-name/:project_name": "person",
  "POST /api/cli/archives": "person",
  "GET /api/cli/cloud-identities": "person",
  "POST /api/cli/cloud-identities": "person",
  "GET /api/cli/cloud-identities/:id": "person",
  "PATCH /api/cli/cloud-identities/:id": "person",
  "DELETE /api/cli/cloud-identities/:id": "person",
  "GET /api/cli/cloud-identities/:id/trust-policy": "person",
  "GET /api/cli/repositories/:git_provider": "person",
  "POST /api/jobs": "person",
  "GET /api/jobs": "person",
  "GET /api/cli/jobs/:id": "person",
  "GET /api/cli/jobs/:id/logs": "person",
  "POST /api/cli/jobs/:id/cancel": "person",
  "POST /api/cli/jobs/:id/retry": "person",
  "GET /api/cli/workers": "person",
  "POST /api/cli/workers": "person",
  "GET /api/cli/workers/:id": "person",
  "POST /api/cli/workers/:id/drain": "person",
  "DELETE /api/cli/workers/:id/drain": "person",
  "POST /api/cli/workers/:id/rotate-token": "person",
  "DELETE /api/cli/workers/:id": "person",
  "POST /api/cli/registration-tokens": "person",
  "PATCH /api/cli/zones/:id": "person",
  "DELETE /api/cli/zones/:id": "person",
  "PATCH /api/cli/configurations/:name": "person",
  "DELETE /api/cli/configurations/:name": "person",
  "GET /api/cli/configurations/:name/state/versions": "person",
  "GET /api/cli/configurations/:name/state/versions/:serial": "person",
  "POST /api/cli/configurations/:name/state/versions/:serial/rollback": "person",
  "DELETE /api/cli/configurations/:name/state/lock": "person",
  "GET /api/cli/logins": "person",
  "DELETE /api/cli/logins/:id": "person",
  "GET /api/cli/audit": "person",
  "GET /api/cli/jobs/:id/plan": "person",
  "GET /api/jobs/:id/logs/stream": "person",
  "POST /api/jobs/claim": "worker",
  "PUT /api/jobs/:id/status": "worker",
  "POST /api/jobs/:id/logs": "worker",
  "GET /api/jobs/:id/logs": "worker",
  "POST /api/jobs/:id/plan-artifact": "worker",
  "GET /api/jobs/:id/plan-artifact": "worker",
  "GET /api/jobs/:id/source": "worker",
  "POST /api/workers/register": "registrant",
  "POST /api/workers/heartbeat": "worker",
  "GET /api/workers/:id": "worker",
  "POST /api/workers/:id/metadata": "worker",
  "POST /api/releases/worker": "pipeline",
  "POST /api/runners/register": "pipeline",
  "GET /api/state/:spec_id": "job",
  "POST /api/state/:spec_id": "job",
  "LOCK /api/state/:spec_id": "job",
  "UNLOCK /api/state/:spec_id": "job",
};

/** A body with which the rightful caller would get through, naming A's things. */
const bodies: Record<string, (id: string) => unknown> = {
  "POST /api/auth/cli/generate": () => ({ device_code: randomUUID() }),
  "POST /api/cli/zones": () => ({ name: "new" }),
  "POST /api/cli/configurations": (id) => ({
    name: "new",
    zone_id: id,
    cloud_identity_id: id,
    source: { type: "inline", files: { "main.tf": "" } },
  }),
  "POST /api/jobs": (id) => ({ job_type: "PLAN", configuration_id: id }),
  "POST /api/cli/cloud-identities": () => ({
    name: "new",
    provider: "aws",
    role_arn: "arn:aws:iam::123456789012:role/new",
  }),
  "PATCH /api/cli/zones/:id": () => ({ name: "taken over" }),
  "PATCH /api/cli/configurations/:name": () => ({ labels: ["taken"] }),
  "PATCH /api/cli/cloud-identities/:id": () => ({ name: "taken over" }),
  "POST /api/cli/workers": () => ({ name: "new" }),
  "POST /api/cli/registration-tokens": () => ({}),
  "PUT /api/jobs/:id/status": () => ({ status: "SUCCESS" }),
  "POST /api/jobs/:id/logs": () => ({ log_chunk: "x", stream_type: "STDOUT" }),
  "POST /api/workers/register": () => ({ name: "new" }),
  "POST /api/workers/heartbeat": () => ({ version: "1.0.0" }),
  "POST /api/workers/:id/metadata": () => ({ taken: true }),
  "POST /api/releases/worker": () => ({ version: "9.9.9" }),
  "POST /api/runners/register": () => ({ name: "new" }),
  "LOCK /api/state/:spec_id": () => ({ ID: "taken" }),
  "UNLOCK /api/state/:spec_id": () => ({ ID: "taken" }),
};

interface Stranger {
  readonly name: string;
  readonly headers: Record<string, string>;
  /** A credential that works, of another owner: may see and make things of its own. */
  readonly own?: readonly Rule[];
}

let plane: Plane;
let routes: ServedRoute[];
let ids: string[];
let strangers: Stranger[];
let owner: Record<string, string>;
let others: string[];

beforeAll(async () => {
  [plane, routes] = await withRoutes(() => startPlane({ RELEASE_API_SECRET: "s".repeat(40) }));
  const { store } = plane.context;
  const browserA = await openBrowser(plane);
  const a = await signIn(plane, browserA);
  owner = bearer(a.access_token);
  const zone = await callsOf(plane, owner).get(endpoints.createZone, { body: { name: "A" } });
  const identity = await callsOf(plane, owner).get(endpoints.createCloudIdentity, {
    body: { name: "A", provider: "aws", role_arn: "arn:aws:iam::123456789012:role/a" },
  });
  const userA = await userOf(browserA.email);
  const ownerA = { id: userA, zone: zone.id };
  const [spec, other] = [await addSpec(store, ownerA), await addSpec(store, ownerA)];
  const worker = await addTestWorker(plane, ownerA);
  const queued = await addJob(store, ownerA, { spec_id: other });
  const running = await addHeldJob(plane, ownerA, worker, { spec_id: spec });
  const over = { status: "FAILED", ended_at: 2, released_at: 2, spec_id: spec } as const;
  const ended = await addHeldJob(plane, ownerA, worker, over);
  ids = [
    zone.id,
    identity.id,
    spec,
    other,
    worker.id,
    queued.id,
    running.id,
    ended.id,
    userA,
    sidOf(a.access_token),
  ];

  const browserB = await openBrowser(plane);
  const b = await signIn(plane, browserB);
  const userB = await userOf(browserB.email);
  const workerB = await addTestWorker(plane, { id: userB, zone: "" });
  others = [userB, workerB.id];
  const gone = await openBrowser(plane, browserA.email);
  const goneTokens = await signIn(plane, gone);
  const sids = [goneTokens.access_token, gone.headers.cookie.split("=")[1] ?? ""].map(sidOf);
  for (const login_id of sids)
    await endLogin(plane.context, {
      user_id: userA,
      email: gone.email,
      login_id,
      login_kind: "session",
      origin: testOrigin,
    });
  const past = { jwtSecret: plane.context.jwtSecret, now: () => Date.now() - 91 * 24 * 3600_000 };
  const claims = { sub: userA, email: gone.email, sid: sidOf(a.access_token), jti: randomUUID() };
  const expired = await signToken(past, "access", claims);
  const rotated = { ...(await addTestWorker(plane, ownerA)).headers };
  await callsOf(plane, owner).get(endpoints.rotateWorkerToken, {
    params: { id: rotated["x-worker-id"] ?? "" },
  });
  const { username, password } = jobCredential(plane, ended);
  const cookie = browserA.headers.cookie;
  const [cookieName, session = ""] = cookie.split("=");
  const none = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url")}.${a.access_token.split(".")[1]}.`;
  const origin = plane.url;
  strangers = [
    { name: "nobody", headers: {} },
    { name: "another user", headers: bearer(b.access_token), own: ["person", "registrant"] },
    {
      name: "another user's browser",
      headers: browserB.headers,
      own: ["person", "registrant", "page"],
    },
    { name: "another worker", headers: workerB.headers, own: ["worker", "registrant"] },
    { name: "a revoked login", headers: bearer(goneTokens.access_token) },
    { name: "a revoked session", headers: gone.headers },
    { name: "an expired token", headers: bearer(expired) },
    { name: "a rotated worker token", headers: rotated },
    {
      name: "a worker's id with another's token",
      headers: { ...workerB.headers, "x-worker-id": worker.id },
    },
    { name: "a session used as bearer", headers: bearer(session) },
    {
      name: "an access token used as session",
      headers: { cookie: `${cookieName}=${a.access_token}`, origin },
    },
    { name: "a refresh token used as access token", headers: bearer(a.refresh_token) },
    { name: "alg none", headers: bearer(none) },
    { name: "a mutated token", headers: bearer(`${a.access_token.slice(0, -3)}AAA`) },
    {
      name: "an ended job's token",
      headers: {
        authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
      },
    },
    { name: "a wrong release secret", headers: bearer("t".repeat(40)) },
  ];
});
afterAll(() => plane.close());

it("has a rule for every route that the server has", () => {
  const missing = routes.map(keyOf).filter((key) => rules[key] === undefined);
  expect(
    missing,
    "add who may call these to `rules` in test/control-plane/tenancy.test.ts",
  ).toEqual([]);
});

it("lets nobody in who must not be, whatever the route and the id, and changes nothing for them", async () => {
  const before = await digest();
  const accepted: string[] = [];
  let asked = 0;
  const questions = strangers.flatMap((stranger) =>
    routes.flatMap((route) => (rules[keyOf(route)] === "open" ? [] : [{ stranger, route }])),
  );
  const judge = async ({ stranger, route }: (typeof questions)[number]): Promise<void> => {
    const key = keyOf(route);
    const isOwn = stranger.own?.includes(rules[key] ?? "open") === true;
    const makeBody = bodies[key];
    const takesId = route.url.includes(":") || namesId(makeBody);
    // With a credential that works and no id of A's, what is made is the caller's own; only what is read is judged.
    if (isOwn && !takesId && route.method !== "GET") return;
    for (const id of takesId ? ids : ids.slice(0, 1)) {
      const path = route.url.replace(/:\w+/, id).replace(/:\w+/, "1");
      const body = makeBody ? JSON.stringify(makeBody(id)) : undefined;
      const headers = {
        ...stranger.headers,
        ...(body ? { "content-type": "application/json" } : {}),
      };
      const { status, body: text } = await ask(plane, route.method, path, {
        headers,
        ...(body ? { body } : {}),
      });
      asked += 1;
      const shown = ids.filter((one) => one !== id || !takesId).some((one) => text.includes(one));
      const isRefused =
        isOwn && !takesId ? !shown : status >= 400 || (rules[key] === "page" && status === 303);
      if (!isRefused || status >= 500 || shown)
        accepted.push(`${stranger.name}: ${route.method} ${path}: ${status}`);
    }
  };
  const next = questions.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const question of next) await judge(question);
    }),
  );
  expect(accepted).toEqual([]);
  expect(asked).toBeGreaterThan(3000);
  expect(await digest()).toBe(before);
}, 60_000);

it("lets the owner in, so that the refusals are not of everybody", async () => {
  const [zone, identity, spec, , worker, job] = ids;
  const paths = [
    `zones/${zone}`,
    `cloud-identities/${identity}`,
    `configurations/${spec}`,
    `workers/${worker}`,
    `jobs/${job}`,
  ];
  for (const path of paths)
    expect((await ask(plane, "GET", `/api/cli/${path}`, { headers: owner })).status).toBe(200);
});

/** Whether a body names one of A's things. */
const namesId = (makeBody: ((id: string) => unknown) | undefined): boolean =>
  makeBody !== undefined && JSON.stringify(makeBody("~id~")).includes("~id~");

const keyOf = ({ method, url }: ServedRoute): string => `${method} ${url}`;

const sidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { sid: string })
    .sid;

async function userOf(email: string): Promise<string> {
  const { sql: queries } = plane.context.store.read;
  return (
    await queries
      .selectFrom("users")
      .select("id")
      .where("email", "=", email)
      .executeTakeFirstOrThrow()
  ).id;
}

/** All rows of all tables but those of the strangers' own; when a worker last called is no change. */
async function digest(): Promise<string> {
  const queries = plane.context.store.read.sql;
  const tables = await sql<{
    name: string;
  }>`select name from sqlite_master where type = 'table' order by name`.execute(queries);
  const hash = createHash("sha256");
  for (const { name } of tables.rows) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(
      queries,
    );
    const lines = rows.map((row) => JSON.stringify({ ...row, last_call_at: null }));
    for (const line of lines.toSorted())
      if (!others.some((id) => line.includes(id))) hash.update(line);
  }
  return hash.digest("hex");
}
