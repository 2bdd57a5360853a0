/** Every route, called by every unauthorized caller with the ids of every thing of another user. */
import { randomBytes, randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { signToken } from "../../control-plane/services/people/jwt.ts";
import { endLogin } from "../../control-plane/services/people/logins.ts";
import { hashToken } from "../../control-plane/domain/tokens.ts";
import { roles, type Role } from "../../protocol/roles.ts";
import { callsOf } from "../helpers/plane/calls.ts";
import { ruledRoutes, ruleOf, type Who } from "./route-rules.ts";
import { dump } from "../helpers/store/store-dump.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  readRow,
  setRows,
  stateHeaders,
} from "../helpers/plane/plane.ts";
import { addJob, addSpec } from "../helpers/plane/rows.ts";
import { type ServedRoute } from "../helpers/plane/routes.ts";
import { bearer, openPerson, origin as testOrigin, signIn } from "../helpers/people/sign-in.ts";

/** A body with which an authorized caller would succeed, naming user A's things. */
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
  "POST /api/jobs/:id/approvals": () => ({ decision: "reject" }),
  "POST /api/cli/cloud-identities": () => ({
    name: "new",
    provider: "aws",
    role_arn: "arn:aws:iam::123456789012:role/new",
  }),
  "PATCH /api/cli/zones/:id": () => ({ name: "taken over" }),
  "PATCH /api/cli/configurations/:name": () => ({ labels: ["taken"] }),
  "PATCH /api/cli/cloud-identities/:id": () => ({ name: "taken over" }),
  "POST /api/cli/variable-sets": (id) => ({ name: "new", zone_ids: [id] }),
  "PATCH /api/cli/variable-sets/:id": () => ({ name: "taken over" }),
  "POST /api/cli/access-tokens": () => ({ name: "new", role: "viewer" }),
  "POST /api/cli/workers": () => ({ name: "new" }),
  "PATCH /api/cli/workers/:id": () => ({ name: "taken over", deploy_configuration: null }),
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

interface OtherCaller {
  readonly name: string;
  readonly headers: Record<string, string>;
  /** A working credential of another owner, which may see and create its own things. */
  readonly own?: readonly Who[];
  /** A worker that may claim A's jobs: of the same owner, or cloud-hosted. */
  readonly serves?: boolean;
  /** Tried with some of the ids only. */
  readonly isBrief?: boolean;
}

/** Routes that end the credential they are called with, after which nothing would be proved. */
const endsItself = new Set(["POST /logout", "POST /api/workers/register"]);

/** Requests about B's own things that refer to a thing of A's. */
const inside = (id: string): [method: string, path: string, body: unknown][] => [
  ["POST", "/api/jobs", { job_type: "PLAN", configuration_id: specB, assigned_worker_id: id }],
  ["POST", "/api/jobs", { job_type: "DEPLOY", configuration_id: specB, plan_job_id: id }],
  ["POST", "/api/jobs", { job_type: "DESTROY_WORKER", assigned_worker_id: id }],
  ["PATCH", `/api/cli/configurations/${specB}`, { zone_id: id }],
  ["PATCH", `/api/cli/configurations/${specB}`, { cloud_identity_id: id }],
  ["PATCH", `/api/cli/variable-sets/${setOfB}`, { configuration_ids: [id] }],
  ["PUT", `/api/cli/variable-sets/${setOfB}/zones/${id}`, undefined],
  ["PUT", `/api/cli/variable-sets/${setOfB}/configurations/${id}`, undefined],
  [
    "PATCH",
    `/api/cli/workers/${workerOfB}`,
    { deploy_configuration: { configuration_id: id, all: true } },
  ],
  [
    "PATCH",
    `/api/cli/workers/${workerOfB}`,
    { deploy_configuration: { snapshot: { source: { type: "archive", sha256: id } } } },
  ],
];

const { plane, routes } = planeForFile({
  RELEASE_API_SECRET: "s".repeat(40),
  // On a busy machine this setup takes longer than a worker may be silent.
  WINDLASS_OFFLINE_SECONDS: "3600",
});
let ids: string[];
let otherCallers: OtherCaller[];
let owner: Record<string, string>;
let others: string[];
/** Names and other words of A's that no response to another caller may contain. */
let words: string[];
let specB: string;
let workerOfB: string;
let setOfB: string;
let second: Record<string, string>;

beforeAll(async () => {
  const { store } = plane.context;
  words = Array.from({ length: 5 }, () => `of-A-${randomUUID()}`);
  const browserA = await openPerson(plane, `${words[3]}@example.com`);
  const a = await signIn(plane, browserA);
  owner = bearer(a.access_token);
  const zone = await callsOf(plane, owner).call("createZone", { body: { name: words[0]! } });
  const identity = await callsOf(plane, owner).call("createCloudIdentity", {
    body: {
      name: words[1]!,
      provider: "aws",
      role_arn: `arn:aws:iam::123456789012:role/${words[2]}`,
    },
  });
  const set = await callsOf(plane, owner).call("createVariableSet", {
    body: { name: words[1]!, variables: { x: { value: words[2]! } }, zone_ids: [zone.id] },
  });
  const userA = await userOf(browserA.email);
  const ownerA = { id: userA, zone: zone.id };
  const [spec, other] = [await addSpec(store, ownerA), await addSpec(store, ownerA)];
  const worker = await addTestWorker(plane, ownerA);
  const queued = await addJob(store, ownerA, { spec_id: other });
  const running = await addHeldJob(plane, ownerA, worker, { spec_id: spec });
  const over = { status: "FAILED", ended_at: 2, released_at: 2, spec_id: spec } as const;
  const ended = await addHeldJob(plane, ownerA, worker, over);
  // A state with a version, and a job whose token is for another configuration.

  const headers = stateHeaders(plane, running);
  const content = { version: 4, serial: 1, lineage: words[4], outputs: {}, resources: [] };
  await ask(plane, "LOCK", `/api/state/${spec}`, { headers, json: { ID: "lock" } });
  const written = await ask(plane, "POST", `/api/state/${spec}?ID=lock`, {
    headers,
    json: content,
  });
  if (written.status !== 200) throw new Error(`the state was refused: ${written.status}`);
  const elsewhere = await addHeldJob(plane, ownerA, worker, {
    spec_id: await addSpec(store, ownerA),
  });
  const archive = await ask(plane, "POST", "/api/cli/archives", {
    headers: { ...owner, "content-type": "application/gzip" },
    body: Buffer.of(0x1f, 0x8b, ...randomBytes(20)),
  });
  const sha256 = String(archive.json()["sha256"]);
  const accessTokenOf = (headers: Record<string, string>, name: string, role: Role) =>
    callsOf(plane, headers).call("createAccessToken", { body: { name, role } });
  const tokenA = await accessTokenOf(owner, "kept", "admin");
  const [revoked, expiredToken] = [
    await accessTokenOf(owner, "revoked", "admin"),
    await accessTokenOf(owner, "expired", "admin"),
  ];
  await callsOf(plane, owner).call("revokeAccessToken", { params: { id: revoked.id } });
  await setRows(plane, "access_tokens", { expires_at: 1 }, { id: expiredToken.id });
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
    sha256,
    words[0]!,
    tokenA.id,
    set.id,
  ];

  const browserB = await openPerson(plane);
  const b = await signIn(plane, browserB);
  const userB = await userOf(browserB.email);
  const ownerB = {
    id: userB,
    zone: (
      await callsOf(plane, bearer(b.access_token)).call("createZone", {
        body: { name: "B" },
      })
    ).id,
  };
  const workerB = await addTestWorker(plane, ownerB);
  workerOfB = workerB.id;
  specB = await addSpec(store, ownerB);
  const createdB = await callsOf(plane, bearer(b.access_token)).call("createVariableSet", {
    body: { name: "B" },
  });
  setOfB = createdB.id;
  const jobB = await addHeldJob(plane, ownerB, workerB, { spec_id: await addSpec(store, ownerB) });
  const tokenB = await callsOf(plane, bearer(b.access_token)).call("createRegistrationToken", {
    body: {},
  });
  const cloud = await addTestWorker(plane, null);
  const sibling = await addTestWorker(plane, ownerA);
  second = sibling.headers;
  const removed = await addTestWorker(plane, ownerA);
  await callsOf(plane, owner).call("deleteWorker", { params: { id: removed.id } });
  others = [userB, workerB.id, cloud.id, sibling.id];
  const gone = await openPerson(plane, browserA.email);
  const goneTokens = await signIn(plane, gone);
  const sids = [goneTokens.access_token, gone.headers.cookie.split("=")[1] ?? ""].map(sidOf);
  for (const login_id of sids)
    await endLogin(plane.context, {
      user_id: userA,
      email: gone.email,
      login_id,
      login_kind: "session",
      space_id: userA,
      role: "admin",
      spaces: [],
      origin: testOrigin,
    });
  const past = { jwtSecret: plane.context.jwtSecret, now: () => Date.now() - 91 * 24 * 3600_000 };
  const claims = { sub: userA, email: gone.email, sid: sidOf(a.access_token), jti: randomUUID() };
  const expired = await signToken(past, "access", claims);
  const rotated = { ...(await addTestWorker(plane, ownerA)).headers };
  await callsOf(plane, owner).call("rotateWorkerToken", {
    params: { id: rotated["x-worker-id"] ?? "" },
    body: { overlap_seconds: 0 },
  });
  const tokensOfB: OtherCaller[] = [];
  for (const role of roles)
    tokensOfB.push({
      name: `an access token of another user, as ${role}`,
      headers: bearer((await accessTokenOf(bearer(b.access_token), role, role)).access_token),
      own: ["user", "person", "registrant"],
      // An admin may do what the other roles may.
      isBrief: role !== "admin",
    });
  const cookie = browserA.headers.cookie;
  const [cookieName, session = ""] = cookie.split("=");
  const none = `${Buffer.from('{"alg":"none","typ":"JWT"}').toString("base64url")}.${a.access_token.split(".")[1]}.`;
  const origin = plane.url;
  otherCallers = [
    { name: "no credential", headers: {} },
    ...tokensOfB,
    { name: "a revoked access token", headers: bearer(revoked.access_token) },
    { name: "an expired access token", headers: bearer(expiredToken.access_token) },
    { name: "a mutated access token", headers: bearer(`${tokenA.access_token.slice(0, -3)}AAA`) },
    { name: "the hash of an access token", headers: bearer(hashToken(tokenA.access_token)) },
    {
      name: "another user",
      headers: bearer(b.access_token),
      own: ["user", "person", "registrant"],
    },
    {
      name: "another user's browser",
      headers: browserB.headers,
      own: ["user", "person", "registrant", "page"],
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
      name: "a cloud-hosted worker",
      headers: cloud.headers,
      own: ["worker", "registrant"],
      serves: true,
    },
    { name: "A's other worker", headers: second, own: ["worker", "registrant"], serves: true },
    { name: "a removed worker", headers: removed.headers },
    { name: "an ended job's token", headers: stateHeaders(plane, ended) },
    {
      name: "the token of A's job of another spec",
      headers: stateHeaders(plane, elsewhere),
    },
    { name: "the token of another user's job", headers: stateHeaders(plane, jobB) },
    {
      name: "another user's registration token",
      headers: { "x-registration-token": tokenB.registration_token },
      own: ["registrant"],
    },
    { name: "a wrong release secret", headers: bearer("t".repeat(40)) },
  ];
});

it("every route has a rule, and every rule a route", () => {
  expect([...new Set(routes.map(keyOf))].toSorted()).toEqual(ruledRoutes.toSorted());
});

it("every unauthorized caller is refused on every route and id, changes nothing and learns nothing", async () => {
  const before = await digest();
  const accepted: string[] = [];
  let asked = 0;
  /**
   * Sends a request and records a response that is allowed in, contains anything of A's that was
   * not in the request, or is a server error.
   */
  const check = async (
    { name, headers }: OtherCaller,
    [method, path, body]: [method: string, path: string, body: unknown],
    isFine: (status: number) => boolean,
  ): Promise<void> => {
    const text = JSON.stringify(body);
    const answer = await ask(plane, method, path, { headers, json: body });
    asked += 1;
    const all = JSON.stringify(answer.headers) + answer.text;
    const said = `${path} ${text}`;
    const shown = [...ids, ...words].filter((one) => all.includes(one) && !said.includes(one));
    if (!isFine(answer.status) || answer.status >= 500 || shown.length > 0)
      accepted.push(`${name}: ${method} ${path} ${text}: ${answer.status} ${shown.join()}`);
  };
  const refused = (status: number) => status >= 400;
  const anything = () => true;
  const requests = otherCallers.flatMap((caller) =>
    routes.flatMap((route): (() => Promise<void>)[] => {
      const key = keyOf(route);
      const { who } = ruleOf(route);
      const isOwn = caller.own?.includes(who) === true;
      const makeBody = bodies[key];
      const takesId = route.url.includes(":") || namesId(makeBody);
      if (isOwn && endsItself.has(key)) return [];
      if (caller.serves === true && key === "POST /api/jobs/claim") return [];
      // An open route, or one called with a working credential and without an id of A's, may
      // succeed but must not show or change anything of A's.
      const isFine =
        who === "open" || (isOwn && !takesId)
          ? anything
          : (status: number) => refused(status) || (who === "page" && status === 303);
      return idsFor(caller, takesId).map((id) => () => {
        const path = route.url.replace(/:\w+/, id).replace(/:\w+/, "1");
        return check(caller, [route.method, path, makeBody?.(id)], isFine);
      });
    }),
  );
  for (const caller of otherCallers.filter(({ own }) => own?.includes("person")))
    for (const request of ids.flatMap(inside)) requests.push(() => check(caller, request, refused));
  const next = requests.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const send of next) await send();
    }),
  );
  process.stdout.write(`${asked} requests, ${accepted.length} accepted\n`);
  expect(accepted).toEqual([]);
  expect(asked).toBeGreaterThan(5000);
  expect(await digest()).toEqual(before);
  // The job that no other caller got could be claimed.
  const claimed = await ask(plane, "POST", "/api/jobs/claim", { headers: second });
  expect([claimed.status, (claimed.json()["job"] as { id: string }).id]).toEqual([200, ids[5]]);
});

it("the owner is allowed, so that the refusals prove something", async () => {
  const [zone, identity, spec, , worker, job] = ids;
  const paths = [
    `zones/${zone}`,
    `cloud-identities/${identity}`,
    `configurations/${spec}`,
    `workers/${worker}`,
    `jobs/${job}`,
    `variable-sets/${ids.at(-1)}`,
  ];
  for (const path of paths)
    expect((await ask(plane, "GET", `/api/cli/${path}`, { headers: owner })).status).toBe(200);
});

const proving = process.env["WINDLASS_PROVE"] === "1";
let turn = 0;

/**
 * A working credential is tried with every id. An invalid one is refused before the id is read, so
 * each route gets two ids in turn.
 */
function idsFor({ own, isBrief }: OtherCaller, takesId: boolean): string[] {
  if (!takesId) return ids.slice(0, 1);
  if ((own && !isBrief) || proving) return ids;
  turn += 2;
  return [0, 1].map((offset) => ids[(turn + offset) % ids.length] ?? "");
}

/** Whether a body refers to one of A's things. */
const namesId = (makeBody: ((id: string) => unknown) | undefined): boolean =>
  makeBody !== undefined && JSON.stringify(makeBody("~id~")).includes("~id~");

const keyOf = ({ method, url }: ServedRoute): string => `${method} ${url}`;

const sidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { sid: string })
    .sid;

const userOf = async (email: string) => (await readRow(plane, "users", { email })).id;

/** Everything that is stored except what belongs to the other callers. */
async function digest(): Promise<string[]> {
  return (await dump(plane)).filter((line) => !others.some((id) => line.includes(id)));
}
