/** What a client can hold with uploads that never end: a least rate, and a bound on unfinished bytes. */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { arrivingBodies, uploadLimits } from "../../../control-plane/http/arriving-bodies.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  clientHeaders,
  stateHeaders,
} from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addOwner, addSpec } from "../../helpers/plane/rows.ts";
import { sendRaw } from "./raw-http.ts";

// Of the minute in which a body has to bring 1 MiB, half a second: 8.7 kB.
const { plane } = planeForFile({ WINDLASS_REQUEST_SECONDS: "0.5" });
type Headers = Readonly<Record<string, string>>;
const head = (method: string, path: string, headers: Headers, length: number): string =>
  [
    `${method} ${path} HTTP/1.1`,
    "host: x",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${length}`,
    "",
    "",
  ].join("\r\n");

/** Every body that is stored: an archive, a plan, a debug log, a state of a job, a state of a user. */
async function uploads(kind?: string) {
  const { store } = plane.context;
  const owner = await addOwner(store);
  const [user, worker] = [await clientHeaders(plane, owner), await addTestWorker(plane, owner)];
  const spec_id = await addSpec(store, owner);
  const job = await addHeldJob(plane, owner, worker, {
    spec_id,
    started_at: 1,
    features: '["debug"]',
  });
  const lock = { headers: stateHeaders(plane, job), body: '{"ID":"lock"}' };
  if (kind === "state") await ask(plane, "LOCK", `/api/state/${spec_id}`, lock);
  const of = `/api/jobs/${job.id}`;
  return {
    owner,
    user,
    all: {
      archive: ["POST", "/api/cli/archives", user],
      plan: ["POST", `${of}/plan-artifact`, worker.headers],
      "debug log": ["POST", `${of}/debug-log`, worker.headers],
      state: ["POST", `/api/state/${spec_id}?ID=lock`, stateHeaders(plane, job)],
      "state of a user": ["POST", `/api/cli/configurations/${spec_id}/state/versions`, user],
    } as const satisfies Record<string, readonly [string, string, Headers]>,
  };
}

const content = gzipSync(randomBytes(100_000));
/** Of a state it is JSON. */
const contentOf = (kind: string) =>
  kind.startsWith("state") ? Buffer.from(`{"x":"${"x".repeat(100_000)}"}`) : content;

describe("an upload that is slower than the least rate is refused, and nothing of it stays:", () => {
  test.for(["archive", "plan", "debug log", "state", "state of a user"] as const)(
    "%s",
    async (kind) => {
      const { all } = await uploads(kind);
      const [method, path, headers] = all[kind];
      const before = await plane.blobs();
      const drops = Array.from({ length: 40 }, (_, at) =>
        contentOf(kind).subarray(at * 10, at * 10 + 10),
      );
      const pieces = [head(method, path, headers, contentOf(kind).length), ...drops];
      const { status, problem } = await sendRaw(plane, pieces, { every: 100, patience: 10_000 });
      expect([status, problem?.code]).toEqual([408, "request_timeout"]);
      expect(await plane.blobs()).toBe(before);
    },
  );
});

test("an upload that pauses, and brings enough all the same, is stored", async () => {
  const { all } = await uploads();
  const [method, path, headers] = all.archive;
  const parts = Array.from({ length: 10 }, (_, at) =>
    content.subarray(
      Math.floor((at * content.length) / 10),
      Math.floor(((at + 1) * content.length) / 10),
    ),
  );
  const pieces = [
    head(method, path, { ...headers, connection: "close" }, content.length),
    ...parts,
  ];
  expect((await sendRaw(plane, pieces, { every: 200, patience: 10_000 })).status).toBe(201);
});

test("unfinished bytes of one user, and of all, are bounded, and what has ended makes room", () => {
  const begin = arrivingBodies(uploadLimits);
  const upload = (user: string, bytes: number) => {
    const arriving = begin({ user_id: user }, bytes);
    return { isThere: arriving?.receive(bytes) ?? false, end: () => arriving?.end() };
  };
  const first = upload("ada", uploadLimits.one);
  expect(first.isThere).toBe(true);
  expect(upload("ada", 1).isThere).toBe(false);
  const others = ["b", "c", "d", "e", "f", "g", "h"].map((user) => upload(user, uploadLimits.one));
  expect(others.every(({ isThere }) => isThere)).toBe(true);
  expect(upload("late", 100_000).isThere).toBe(false);
  first.end();
  expect(upload("late", 100_000).isThere).toBe(true);
});
