/**
 * Invalid input of every known kind: each is refused with its status and code, and changes nothing
 * that is stored.
 */
import { createHash, randomUUID } from "node:crypto";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { problemCodes, type ProblemCode } from "../../../protocol/problem.ts";
import { dump } from "../../helpers/store/store-dump.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  readRow,
  stateHeaders,
} from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import type { TestResponse, TestWorker } from "../../helpers/plane/plane.ts";
import { sendRaw, type RawResponse } from "./raw-http.ts";
import { addJob, addOwner, addSpec, type Owner } from "../../helpers/plane/rows.ts";
import { bearer, openPerson, type Person, signIn } from "../../helpers/people/sign-in.ts";

const { plane } = planeForFile({ WINDLASS_REQUEST_SECONDS: "0.5" });
let browser: Person;
let person: Record<string, string>;
let tokens: { access_token: string; refresh_token: string };
let mine: Owner;
let spec: string;
let worker: TestWorker;
let job: string;
let planJob: string;
let state: { authorization: string };
/** Things of another user. */
let foreign: { zone: string; spec: string; job: string; worker: string };

beforeAll(async () => {
  const { store } = plane.context;
  browser = await openPerson(plane);
  tokens = await signIn(plane, browser);
  person = bearer(tokens.access_token);
  const user = await readRow(plane, "users", { email: browser.email });
  const made = await ask(plane, "POST", "/api/cli/zones", {
    headers: person,
    json: { name: "mine" },
  });
  mine = { id: user.id, zone: String(made.json()["id"]) };
  spec = await addSpec(store, mine);
  worker = await addTestWorker(plane, mine);
  const held = await addHeldJob(plane, mine, worker, { spec_id: spec });
  job = held.id;
  planJob = (await addHeldJob(plane, mine, worker, { spec_id: await addSpec(store, mine) })).id;
  state = stateHeaders(plane, held);
  const other = await addOwner(store);
  const theirs = await addSpec(store, other);
  foreign = {
    zone: other.zone,
    spec: theirs,
    job: (await addJob(store, other, { spec_id: theirs })).id,
    worker: (await addTestWorker(plane, other)).id,
  };
});

/** Runs a request that must be refused and compares everything that is stored before and after. */
async function unchanged<T>(run: () => Promise<T>): Promise<T> {
  const before = await dump(plane);
  const result = await run();
  expect(await dump(plane)).toEqual(before);
  return result;
}

/** Checks the status, type, title and form of the problem. */
function expectProblem(answer: TestResponse, code: ProblemCode, name: string): void {
  const [status] = problemCodes[code];
  expect(`${name}: ${answer.status} ${answer.json().code}`).toBe(`${name}: ${status} ${code}`);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
  expect(answer.json()).toMatchObject({
    type: `/problems/${code}`,
    title: problemCodes[code][1],
    status: problemCodes[code][0],
    detail: expect.any(String) as string,
    request_id: expect.any(String) as string,
  });
}

const json = { "content-type": "application/json" };
const postZone = (
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<TestResponse> =>
  ask(plane, "POST", "/api/cli/zones", { headers: { ...person, ...json, ...headers }, body });

describe("a request body", () => {
  it.each<[string, string | Buffer, ProblemCode, Record<string, string>?]>([
    ["that is truncated", '{"name":"z"', "malformed_json"],
    ["that is empty", "", "malformed_json"],
    ["with trailing text", '{"name":"z"}}', "malformed_json"],
    ["with a byte order mark", '\ufeff{"name":"z"}', "malformed_json"],
    ["with NaN", '{"name":NaN}', "malformed_json"],
    ["with a raw control character", '{"name":"a\u0001"}', "malformed_json"],
    ["that is not UTF-8", Buffer.from('{"name":"a\xffb"}', "latin1"), "malformed_json"],
    ["in UTF-16", Buffer.from('{"name":"z"}', "utf16le"), "malformed_json"],
    ["with an unpaired surrogate", '{"name":"a\\ud800b"}', "malformed_json"],
    ["with a reversed surrogate pair", '{"name":"\\udc00\\uD83D"}', "malformed_json"],
    ["with an unpaired surrogate in a name", '{"name":"z","\\udfff":1}', "malformed_json"],
    ["with NUL", '{"name":"a\\u0000b"}', "invalid_request"],
    ["with an escape sequence", '{"name":"\\u001b[31m"}', "invalid_request"],
    ["with a C1 control character", '{"name":"a\\u0085b"}', "invalid_request"],
    ["with __proto__", '{"name":"z","__proto__":{"admin":true}}', "invalid_request"],
    ["with constructor", '{"name":"z","constructor":{"prototype":{}}}', "invalid_request"],
    ["with an unknown field", '{"name":"z","owner_id":"x"}', "invalid_request"],
    ["of 10,000 arrays", `${"[".repeat(10_000)}${"]".repeat(10_000)}`, "malformed_json"],
    ["of 10,000 objects", `${'{"name":'.repeat(10_000)}1${"}".repeat(10_000)}`, "malformed_json"],
    ["of 30,000 values", `{"name":[${"{},".repeat(30_000)}1]}`, "malformed_json"],
    ["with a number out of range", '{"name":1e999}', "invalid_request"],
    ["with a number of 100,000 digits", `{"name":${"9".repeat(100_000)}}`, "invalid_request"],
    ["with the wrong type", '{"name":["z"]}', "invalid_request"],
    ["with null", '{"name":null}', "invalid_request"],
    ["with an empty name", '{"name":""}', "invalid_request"],
    ["without a field", "{}", "invalid_request"],
    ["that is an array", "[]", "invalid_request"],
    ["that is a text", '"z"', "invalid_request"],
    ["with a string too long", JSON.stringify({ name: "x".repeat(101) }), "invalid_request"],
    ["of more than 1 MiB", JSON.stringify({ name: "x".repeat(1 << 20) }), "payload_too_large"],
    [
      "that is compressed",
      gzipSync('{"name":"z"}'),
      "unsupported_media_type",
      { "content-encoding": "gzip" },
    ],
    [
      "declared as compressed",
      '{"name":"z"}',
      "unsupported_media_type",
      { "content-encoding": "br" },
    ],
    ["of plain text", '{"name":"z"}', "unsupported_media_type", { "content-type": "text/plain" }],
    ["of text/json", '{"name":"z"}', "unsupported_media_type", { "content-type": "text/json" }],
    [
      "of two types",
      '{"name":"z"}',
      "unsupported_media_type",
      { "content-type": "application/json, text/plain" },
    ],
    [
      "of a multipart form",
      "name=z",
      "unsupported_media_type",
      { "content-type": "multipart/form-data" },
    ],
  ])("%s is refused and changes nothing", async (name, body, code, headers) => {
    expectProblem(await unchanged(() => postZone(body, headers)), code, name);
  });

  it("of a log post may hold an unpaired surrogate, which is stored as a replacement character", async () => {
    const answer = await ask(plane, "POST", `/api/jobs/${job}/logs`, {
      headers: { ...worker.headers, ...json },
      body: '{"log_chunk":"a\\ud83d","stream_type":"STDOUT"}',
    });
    expect(answer.status).toBe(201);
    const log = await ask(plane, "GET", `/api/cli/jobs/${job}/logs`, { headers: person });
    expect(log.text).toContain('"a\ufffd"');
  });

  it("may hold surrogate pairs, escaped or not, and the last of two equal names wins", async () => {
    const answer = await postZone('{"name":"lost","name":"\\ud83d\\ude00 😀"}');
    expect([answer.status, answer.json()["name"]]).toEqual([201, "😀 😀"]);
  });
});

describe("a request field", () => {
  const inline = { type: "inline", files: { "main.tf": "" } };
  const config = (more: object) => ({ name: "c", zone_id: mine.zone, source: inline, ...more });
  const [jobs, configurations] = ["/api/jobs", "/api/cli/configurations"];
  it.each<[string, string, () => unknown, ProblemCode]>([
    [
      "a malformed id",
      jobs,
      () => ({ job_type: "PLAN", configuration_id: "7" }),
      "invalid_request",
    ],
    [
      "another user's configuration",
      jobs,
      () => ({ job_type: "PLAN", configuration_id: foreign.spec }),
      "not_found",
    ],
    [
      "another user's worker",
      jobs,
      () => ({ job_type: "PLAN", configuration_id: spec, assigned_worker_id: foreign.worker }),
      "not_found",
    ],
    ["another user's zone", configurations, () => config({ zone_id: foreign.zone }), "not_found"],
    [
      "a time that is text",
      configurations,
      () => config({ timeout_seconds: "60" }),
      "invalid_request",
    ],
    [
      "a path outside the directory",
      configurations,
      () => config({ source: { type: "inline", files: { "../x.tf": "" } } }),
      "invalid_request",
    ],
    [
      "an invalid role",
      "/api/cli/cloud-identities",
      () => ({ name: "c", provider: "aws", role_arn: "root" }),
      "invalid_request",
    ],
    ["no uses", "/api/cli/registration-tokens", () => ({ uses: 0 }), "invalid_request"],
    [
      "a cloud-hosted worker",
      "/api/cli/workers",
      () => ({ name: "w", mode: "cloud-hosted" }),
      "invalid_request",
    ],
  ])("with %s is refused and changes nothing", async (name, path, body, code) => {
    const headers = { ...person, ...json };
    const answer = await unchanged(() =>
      ask(plane, "POST", path, { headers, body: JSON.stringify(body()) }),
    );
    expectProblem(answer, code, name);
  });

  it.each<[string, ProblemCode]>([
    ["limit=0", "invalid_request"],
    ["limit=1001", "invalid_request"],
    ["limit=1&limit=2", "invalid_request"],
    ["limit=all", "invalid_request"],
    ["limit=1.5", "invalid_request"],
    ["status=DONE", "invalid_request"],
    ["status=QUEUED&status=FAILED", "invalid_request"],
    ["zone_id=x", "invalid_request"],
    ["cursor=x&limit=1", "invalid_cursor"],
    [`cursor=${"x".repeat(201)}`, "invalid_request"],
  ])("in the query is refused: %s", async (query, code) => {
    expectProblem(await ask(plane, "GET", `/api/jobs?${query}`, { headers: person }), code, query);
  });

  it("in the path is 400 if it is not an id, and the same 404 for an unknown id and another user's id", async () => {
    const paths = (id: string): [string, string, Record<string, string>][] => [
      ["GET", `/api/cli/jobs/${id}`, person],
      ["GET", `/api/cli/jobs/${id}/logs`, person],
      ["GET", `/api/cli/jobs/${id}/plan`, person],
      ["GET", `/api/cli/jobs/${id}/debug-log`, person],
      ["POST", `/api/cli/jobs/${id}/cancel`, person],
      ["POST", `/api/cli/jobs/${id}/retry`, person],
      ["GET", `/api/jobs/${id}/logs/stream`, person],
      ["GET", `/api/jobs/${id}/plan-artifact`, worker.headers],
      ["GET", `/api/jobs/${id}/logs`, worker.headers],
    ];
    await unchanged(async () => {
      for (const id of ["1", "%00", "..%2f..", "x".repeat(500), `${foreign.job}x`])
        for (const [method, path, headers] of paths(id))
          expectProblem(await ask(plane, method, path, { headers }), "invalid_request", path);
      for (const [at, [method, path, headers]] of paths(foreign.job).entries()) {
        const theirs = await ask(plane, method, path, { headers });
        const nobodys = await ask(plane, method, paths(randomUUID())[at]![1], { headers });
        expectProblem(theirs, "not_found", path);
        expect(nobodys.json()["detail"]).toBe(theirs.json()["detail"]);
      }
    });
  });
});

describe("a credential", () => {
  const cookieToken = () => browser.headers.cookie.split("=")[1] ?? "";
  it.each<[string, () => Record<string, string>]>([
    ["that is missing", () => ({})],
    ["of another scheme", () => ({ authorization: `Token ${tokens.access_token}` })],
    ["given twice", () => ({ authorization: `Bearer ${tokens.access_token}, Bearer x` })],
    ["that is a refresh token", () => bearer(tokens.refresh_token)],
    ["that is a session", () => bearer(cookieToken())],
    [
      "that is an access token in the session cookie",
      () => ({ cookie: browser.headers.cookie.replace(/=.*/, `=${tokens.access_token}`) }),
    ],
    ["of a worker", () => worker.headers],
    ["of a job", () => state],
    ["of 20,000 characters", () => bearer("x".repeat(12_000))],
  ])(
    "%s is refused with 401 before the request is read, and changes nothing",
    async (name, headers) => {
      const send = () =>
        ask(plane, "POST", "/api/cli/zones", { headers: { ...headers(), ...json }, body: "{" });
      expectProblem(await unchanged(send), "unauthenticated", name);
    },
  );

  it("of a browser is refused from another site, and changes nothing", async () => {
    for (const origin of ["https://evil.example", "null", "", `${plane.url}.evil.example`]) {
      const headers = { cookie: browser.headers.cookie, origin, ...json };
      const send = () => ask(plane, "POST", "/api/cli/zones", { headers, body: '{"name":"csrf"}' });
      expectProblem(await unchanged(send), "foreign_origin", origin);
    }
  });

  it("of a worker with any fault is refused with the same 401", async () => {
    const [id, token] = [worker.headers["x-worker-id"]!, worker.headers["x-worker-token"]!];
    const wrongs: [string?, string?][] = [
      [],
      [id],
      [id, `${token}x`],
      [id, token.slice(0, -1)],
      [id, token.toUpperCase()],
      [randomUUID(), token],
      [foreign.worker, token],
      ["no id", token],
      [id, tokens.access_token],
    ];
    await unchanged(async () => {
      const details = new Set<unknown>();
      for (const [x, y] of wrongs) {
        const headers = { ...(x && { "x-worker-id": x }), ...(y && { "x-worker-token": y }) };
        const answer = await ask(plane, "POST", "/api/jobs/claim", { headers });
        expectProblem(answer, "invalid_worker_token", `${x}`);
        // Missing headers are named.
        if (y) details.add(answer.json()["detail"]);
      }
      expect(details.size).toBe(1);
    });
  });
});

describe("an upload", () => {
  const path = () => `/api/jobs/${planJob}/plan-artifact`;
  const bytes = { "content-type": "application/octet-stream" };
  it.each<[string, Record<string, string>, ProblemCode]>([
    [
      "with the digest of other content",
      {
        "content-digest": `sha-256=:${createHash("sha256").update("other").digest("base64")}:`,
      },
      "digest_mismatch",
    ],
    ["with a digest that is too short", { "content-digest": "sha-256=:AAAA:" }, "invalid_request"],
    ["with a malformed digest", { "content-digest": "sha-256" }, "invalid_request"],
    ["of another attempt", { "x-job-attempt": "2" }, "not_job_holder"],
  ])("%s is refused and stores nothing", async (name, headers, code) => {
    const send = () =>
      ask(plane, "POST", path(), {
        headers: { ...worker.headers, ...bytes, ...headers },
        body: "plan",
      });
    const answer = await send();
    expectProblem(answer, code, name);
    expectProblem(await unchanged(send), code, `${name}, again`);
  });

  it("that breaks off stores nothing", async () => {
    const head = headOf("POST", path(), worker.headers) + "Content-Length: 1000\r\n\r\nhalf";
    await unchanged(async () => {
      const { hostname, port } = new URL(plane.url);
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () =>
          socket.write(head, () => setTimeout(() => socket.destroy(), 50)),
        );
        socket.on("close", () => resolve());
      });
      await expect.poll(() => plane.blobs()).toBe(0);
    });
  });

  it("in chunks without a length is refused at the limit", async () => {
    const chunk = Buffer.alloc(1 << 16, "x");
    async function* endless() {
      for (let i = 0; i < 20; i += 1) yield chunk;
    }
    const answer = await unchanged(() =>
      ask(plane, "POST", "/api/cli/zones", { headers: { ...person, ...json }, body: endless() }),
    );
    expectProblem(answer, "payload_too_large", "chunks");
  });
});

function headOf(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nHost: x\r\n${lines.join("")}`;
}

describe("a connection", () => {
  const post = "POST /api/cli/zones HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
  const refused = ({ status, problem, text }: RawResponse, code: ProblemCode, name: string) => {
    const wanted = `${name}: ${problemCodes[code][0]} ${code}`;
    expect(`${name}: ${status} ${problem?.code}`).toBe(wanted);
    expect(text.toLowerCase()).toContain("content-type: application/problem+json");
    expect(text.toLowerCase()).toContain(`x-request-id: ${problem?.request_id}`);
  };
  it.each<[string, string, ProblemCode]>([
    ["another protocol", "SSH-2.0-x\r\n\r\n", "bad_request"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "bad_request"],
    ["an unknown method", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "bad_request"],
    ["NUL in the address", "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", "bad_request"],
    ["bare line feeds", "GET / HTTP/1.1\nHost: x\n\n", "bad_request"],
    ["two lengths", `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, "bad_request"],
    ["a negative length", `${post}Content-Length: -2\r\n\r\n{}`, "bad_request"],
    [
      "a length and chunks",
      `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      "bad_request",
    ],
    ["no Host header", "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", "bad_request"],
    [
      "two Host headers",
      "GET /healthz HTTP/1.1\r\nHost: x\r\nhost: x\r\nConnection: close\r\n\r\n",
      "bad_request",
    ],
    [
      "an unknown expectation",
      `${post}Expect: foo\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
      "expectation_failed",
    ],
    ["a folded header", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", "bad_request"],
    ["a space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "bad_request"],
    [
      "a header that is too long",
      `GET / HTTP/1.1\r\nX: ${"x".repeat(40_000)}\r\n\r\n`,
      "headers_too_large",
    ],
    [
      "too many headers",
      `GET / HTTP/1.1\r\nHost: x\r\n${"a: b\r\n".repeat(5000)}\r\n`,
      "headers_too_large",
    ],
  ])("that sends %s gets a problem and is closed", async (name, text, code) => {
    const response = await unchanged(() => sendRaw(plane, [text]));
    refused(response, code, name);
    expect(response.milliseconds).toBeLessThan(1900);
  });

  it("with malformed chunks gets a problem and is closed", async () => {
    const head = `${post}Authorization: ${person["authorization"]}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    refused(await unchanged(() => sendRaw(plane, [`${head}zz\r\n`])), "bad_request", "chunks");
  });

  it("that sends its head too slowly is closed in time", async () => {
    const pieces = Array.from({ length: 100 }, (_, i) => `X-${i}: y\r\n`);
    const start = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
    const response = await sendRaw(plane, [start, ...pieces], { every: 100, patience: 8000 });
    refused(response, "request_timeout", "head");
    expect(response.milliseconds).toBeLessThan(5000);
  });

  it.each(["Content-Length: 5000", "Transfer-Encoding: chunked"])(
    "that sends its body too slowly is closed in time and changes nothing: %s",
    async (length) => {
      const chunked = length.startsWith("T");
      const pieces = Array.from({ length: 100 }, () => (chunked ? "1\r\n \r\n" : " "));
      for (const path of ["/api/cli/zones", "/api/auth/cli/exchange"]) {
        const head = headOf("POST", path, { ...person, ...json });
        const response = await unchanged(() =>
          sendRaw(plane, [`${head}${length}\r\n\r\n`, ...pieces], { every: 100, patience: 8000 }),
        );
        refused(response, "request_timeout", path);
        expect(response.milliseconds).toBeLessThan(5000);
      }
    },
  );

  it("that is closed does not affect the server", async () => {
    expect((await ask(plane, "GET", "/healthz")).status).toBe(200);
  });
});
