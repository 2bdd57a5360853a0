/**
 * Valid and invalid requests generated from the protocol's schemas, to every route: no 5xx, no
 * crash, every refusal is a problem.
 */
import { randomInt } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Agent } from "undici";
import type { Caller } from "../../protocol/endpoint.ts";
import { problemCodes } from "../../protocol/problem.ts";
import { breaches } from "./invariants.ts";
import { hostile, seeded, type Hostile, type Schema } from "../helpers/plane/hostile-values.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { proving } from "../helpers/project/proving.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  stateHeaders,
} from "../helpers/plane/plane.ts";
import { type ServedRoute } from "../helpers/plane/routes.ts";
import { addJob, addOwner, addSpec } from "../helpers/plane/rows.ts";
import { openPerson } from "../helpers/people/sign-in.ts";

const requests = proving ? 3_000_000 : 20_000;
/** Fixed, so that a failure can be repeated; random under `prove`. */
const seed = Number(process.env["FUZZ_SEED"] ?? (proving ? randomInt(2 ** 31) : 1));
const rawConnections = requests / 100;
/** Requests remove things and rotate tokens, so new ones are created after this many. */
const perWorld = 2000;
const lanes = 16;
const secret = "s".repeat(40);

const { plane, routes: served } = planeForFile({ RELEASE_API_SECRET: secret });
let routes: Fuzzed[];
const agent = new Agent({ connections: lanes });

beforeAll(async () => {
  const document = (await ask(plane, "GET", "/openapi.json")).json() as unknown as OpenApi;
  routes = served.map((route) => ({ ...route, input: inputOf(document, route) }));
});
afterAll(() => agent.destroy());

it(
  `returns no 5xx and no malformed problem for ${requests} generated requests`,
  { timeout: proving ? 36_000_000 : 1_200_000 },
  async () => {
    process.stdout.write(`seed ${seed} (FUZZ_SEED repeats it)\n`);
    const tally = new Map<number, number>();
    const wrong: string[] = [];
    for (let done = 0; done < requests; done += perWorld) {
      const { ids, credentials, fitting } = await newWorld();
      const count = Math.min(perWorld, requests - done);
      await Promise.all(
        Array.from({ length: lanes }, async (_, lane) => {
          // Each lane has its own generator, so that its requests do not depend on the speed of the
          // others.
          const of = hostile(seeded(seed + done * lanes + lane), () => ids);
          for (let at = lane; at < count; at += lanes) {
            const route = of.pick(routes);
            const right = fitting[route.endpoint?.caller ?? "anyone"];
            // Mostly a credential that the route accepts: with any other only the guard is tested.
            const asked = makeRequest(of, route, of.pick(of.rarely(4) ? credentials : right));
            const { status, fault } = await check(asked);
            tally.set(status, (tally.get(status) ?? 0) + 1);
            if (fault && wrong.length < 20)
              wrong.push(`${asked.method} ${asked.path.slice(0, 200)}: ${status} ${fault}`);
          }
        }),
      );
      expect(wrong).toEqual([]);
      expect(await breaches(plane)).toEqual([]);
    }
    process.stdout.write(`${requests} requests: ${JSON.stringify(Object.fromEntries(tally))}\n`);
    // If every request had been refused by its guard, nothing would have been tested.
    expect((tally.get(200) ?? 0) + (tally.get(201) ?? 0)).toBeGreaterThan(requests / 100);
    expect((await ask(plane, "GET", "/healthz")).status).toBe(200);
  },
);

it(`survives ${rawConnections} connections that send malformed HTTP`, async () => {
  process.stdout.write(`seed ${seed} (FUZZ_SEED repeats it)\n`);
  const of = hostile(seeded(seed), () => [crypto.randomUUID()]);
  const answers: string[] = [];
  for (let done = 0; done < rawConnections; done += lanes)
    answers.push(...(await Promise.all(Array.from({ length: lanes }, () => speak(nonsense(of))))));
  expect(answers.filter((answer) => answer.startsWith("HTTP/1.1 5"))).toEqual([]);
  expect((await ask(plane, "GET", "/healthz")).status).toBe(200);
});

interface Fuzzed extends ServedRoute {
  readonly input: Partial<Record<"params" | "query" | "body", Schema>>;
}

/** The part of the server's OpenAPI document that describes requests. */
interface OpenApi {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components?: { readonly schemas?: Record<string, Schema> };
}
interface Operation {
  readonly parameters?: readonly { in: string; name: string; required?: boolean; schema: Schema }[];
  readonly requestBody?: { readonly content?: Record<string, { schema?: Schema }> };
}

/**
 * The input schemas of a route. OpenAPI cannot describe LOCK and UNLOCK, so theirs come from the
 * endpoint.
 */
function inputOf(document: OpenApi, { method, url, endpoint }: ServedRoute): Fuzzed["input"] {
  const path = url.replace(/:(\w+)/g, "{$1}");
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) return endpoint?.params ? { params: endpoint.params } : {};
  const fields = (place: string): Schema => {
    const all = (operation.parameters ?? []).filter((one) => one.in === place);
    return {
      type: "object",
      properties: Object.fromEntries(all.map(({ name, schema }) => [name, whole(schema)])),
      required: all.filter(({ required }) => required).map(({ name }) => name),
    };
  };
  const body = operation.requestBody?.content?.["application/json"]?.schema;
  return {
    params: fields("path"),
    query: fields("query"),
    ...(body ? { body: whole(body) } : {}),
  };

  /** The schema with its references replaced by what they refer to. */
  function whole(schema: Schema): Schema {
    return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
      const name = /^#\/components\/schemas\/(.+)$/.exec(
        String((value as { $ref?: string } | null)?.$ref),
      )?.[1];
      const named = name === undefined ? undefined : document.components?.schemas?.[name];
      return named ? whole(named) : value;
    }) as Schema;
  }
}

interface FuzzedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | Buffer | null;
}

function makeRequest(
  of: Hostile,
  route: Fuzzed,
  credential: Record<string, string>,
): FuzzedRequest {
  const { params, query, body: bodySchema } = route.input;
  const bytes = route.endpoint?.bytes;
  const wrong = of.pick([4, 15, 1000]);
  const names = params?.properties ?? {};
  const path = route.url.replace(/:(\w+)/g, (_, name: string) =>
    escape(of.value(names[name] ?? { type: "string" }, wrong * 2)),
  );
  const fields = of.value(query ?? { type: "object" }, wrong * 4);
  const pairs = Object.entries(Object(fields) as object)
    // A waiting request tests nothing more and takes its time.
    .filter(([name]) => name !== "wait")
    .slice(0, 5)
    .map(([name, value]) => `${escape(name)}=${escape(value)}`);
  const headers: Record<string, string> = { ...credential };
  if (of.rarely(20)) headers["x-job-attempt"] = of.pick(["1", "-1", "x", "1e9"]);
  if (of.rarely(20))
    headers["content-digest"] = of.pick(["sha-256=:AAAA:", "x", "sha-256=", ",,,"]);
  if (of.rarely(20)) headers["range"] = of.pick(["bytes=0-", "bytes=9-1", "bytes=-", "x"]);
  if (of.rarely(20)) headers["cookie"] = of.pick(["=", "windlass_session=x.y.z", "a;;=;b"]);
  if (of.rarely(20)) headers["x-request-id"] = "x".repeat(200);
  if (of.rarely(20)) headers["last-event-id"] = of.pick(["x", "-1", "99999999999999999999"]);
  const takesBody = bodySchema !== undefined || bytes === "request" || of.rarely(10);
  let body: string | Buffer | null = null;
  if (takesBody && route.method !== "GET") {
    headers["content-type"] = of.rarely(15)
      ? of.pick(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"])
      : "application/json";
    const text = JSON.stringify(of.value(bodySchema ?? {}, wrong)) ?? "";
    body = of.rarely(15)
      ? of.pick([text.slice(0, -1), `${text}}`, "", "\u0000", "[", Buffer.from([0xff, 0xfe, 0])])
      : text;
  }
  return {
    method: route.method,
    path: pairs.length ? `${path}?${pairs.join("&")}` : path,
    headers,
    body,
  };
}

/** An unpaired surrogate cannot be escaped, so it is sent as the bytes of a broken client. */
function escape(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.isWellFormed() ? encodeURIComponent(text.slice(0, 3000)) : "%ed%a0%80";
}

async function check({
  method,
  path,
  headers,
  body,
}: FuzzedRequest): Promise<{ status: number; fault?: string }> {
  const send = () => agent.request({ origin: plane.url, method, path, headers, body });
  const answer = await send().catch(async (error: unknown) => {
    // Another lane revoked the credential between its check and the first byte of a download, which
    // ends the connection. From then on it is refused.
    const repeated = await send();
    if (repeated.statusCode !== 401) throw error;
    return repeated;
  });
  const status = answer.statusCode;
  const type = String(answer.headers["content-type"] ?? "");
  if (type.startsWith("text/event-stream")) {
    // The stream has no end.
    answer.body.on("error", () => undefined).destroy();
    return { status };
  }
  const text = await answer.body.text();
  if (status >= 500) return { status, fault: text.slice(0, 300) };
  if (status < 400 || type.startsWith("text/html")) return { status };
  // The body of a 423 is the lock info that terraform reads.
  if (status === 423 && path.startsWith("/api/state/")) return { status };
  if (!type.startsWith("application/problem+json")) return { status, fault: `${type} ${text}` };
  const problem = JSON.parse(text) as { code: keyof typeof problemCodes; status: number };
  return problemCodes[problem.code]?.[0] === status && problem.status === status
    ? { status }
    : { status, fault: text };
}

/** A user with a thing of each kind, and valid and invalid headers of all kinds of callers. */
async function newWorld() {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const [spec, busy] = [await addSpec(store, owner), await addSpec(store, owner)];
  const worker = await addTestWorker(plane, owner);
  const held = await addHeldJob(plane, owner, worker, { spec_id: busy });
  const plan = await addJob(store, owner, { spec_id: spec });
  const failed = { status: "FAILED", ended_at: 2, released_at: 2 } as const;
  const over = await addHeldJob(plane, owner, worker, { spec_id: spec, ...failed });

  const client = await clientHeaders(plane, owner);
  const browser = (await openPerson(plane)).headers;
  const job = { ...stateHeaders(plane, held) };
  const pipeline = { authorization: `Bearer ${secret}` };
  const otherOwner = await addOwner(store);
  const foreign = await addSpec(store, otherOwner);
  return {
    ids: [owner.zone, spec, busy, worker.id, held.id, plan.id, over.id, owner.id, foreign],
    fitting: {
      anyone: [{}, client],
      session: [browser],
      client: [client, client, browser],
      worker: [worker.headers],
      registrant: [client, worker.headers],
      job: [job],
      pipeline: [pipeline],
    } as Record<Caller, Record<string, string>[]>,
    credentials: [
      client,
      browser,
      worker.headers,
      job,
      pipeline,
      await clientHeaders(plane, otherOwner),
      {},
      { authorization: "Bearer x.y.z" },
      { "x-worker-id": worker.id, "x-worker-token": "wlw_x" },
      { "x-worker-id": "no id", "x-worker-token": "" },
    ] as Record<string, string>[],
  };
}

/** Bytes that are almost a request, or nothing like one. */
function nonsense(of: Hostile): Buffer {
  const start = `${of.pick(["GET", "POST", "LOCK", "BREW", ""])} ${of.pick(["/api/jobs", "/%", "//", "*", "http://x/"])} HTTP/1.1\r\nHost: x\r\n`;
  const length = of.pick(["-1", "5", "99999999999999999999", "1e3", "0x10"]);
  const text = of.pick([
    `${start}Content-Length: ${length}\r\n\r\n{}`,
    `${start}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    `${start}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n{}`,
    `${start}X: ${"x".repeat(40_000)}\r\n\r\n`,
    `${start}Cookie: \u0000\r\n\r\n`,
    `${start}\n\n\n`,
    start,
  ]);
  const bytes = Buffer.from(text);
  for (let flips = of.pick([0, 0, 1, 20]); flips > 0; flips -= 1)
    bytes[Math.floor(of.random() * bytes.length)] = Math.floor(of.random() * 256);
  return bytes;
}

/** Sends the bytes, closes, and returns the response. */
function speak(bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(plane.url);
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    socket.setTimeout(1000, () => socket.destroy());
    socket.on("data", (data) => (received += data.toString("latin1")));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(received));
  });
}
