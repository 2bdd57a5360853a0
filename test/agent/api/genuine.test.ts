/** A proxy between agent and control plane: what it responds itself is not the control plane's. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createApi } from "../../../agent/api/api.ts";
import { Revocation, sortFailure } from "../../../agent/api/failures.ts";
import { openKnownServer } from "../../../agent/api/known-server.ts";
import type { JobApi } from "../../../agent/job/job-api.ts";
import { JobRefusedError } from "../../../agent/job/job-refused-error.ts";
import { deliver } from "../../../agent/logs/delivery.ts";
import { features } from "../../../protocol/features.ts";
import { faultProxy, type OwnResponse } from "../../helpers/network/fault-proxy.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import {
  addHeldJob,
  addTestWorker,
  ask,
  jobCredential,
  readJob,
  stateHeaders,
} from "../../helpers/plane/plane.ts";
import { addJob, addOwner, addSpec } from "../../helpers/plane/rows.ts";

const { plane } = planeForFile();
let folder: string;
folderForEachTest((path) => {
  folder = path;
});

const html = { type: "text/html", text: "<h1>Down for maintenance</h1>" };
const json = (body: object) => ({ type: "application/json", text: JSON.stringify(body) });
/** What proxies send during maintenance, without a route, before a sign-in and with faults. */
const pages: readonly OwnResponse[] = [
  { status: 404, ...html },
  { status: 200, ...html },
  { status: 200, ...json({ status: "maintenance", id: "1", job_id: "1" }) },
  { status: 401, ...html },
  { status: 401, ...json({ code: "invalid_worker_token" }) },
  { status: 401, ...html },
  { status: 403, type: "application/problem+json", text: '{"code":"blocked_by_firewall"}' },
  { status: 409, ...json({ code: "not_job_holder" }) },
  { status: 413, ...html },
  { status: 502, ...html },
];

/** A job of a worker whose agent has got a heartbeat, and the agent's calls through a proxy. */
async function heldJob() {
  const owner = await addOwner(plane.context.store);
  const worker = await addTestWorker(plane, owner);
  const spec_id = await addSpec(plane.context.store, owner);
  const change = { spec_id, job_type: "DEPLOY", features: JSON.stringify(features) } as const;
  const job = await addHeldJob(plane, owner, worker, change);
  const proxy = await faultProxy(plane.url);
  const place = { workDir: folder, url: proxy.url };
  const revocation = new Revocation(0, () => undefined);
  const open = (known = openKnownServer(place)) =>
    createApi({
      server: proxy.url,
      workerId: worker.id.toUpperCase(),
      workerToken: worker.headers["x-worker-token"] ?? "",
      network: {},
      known,
      log: pino({ level: "silent" }),
      retry: { first: 1, most: 1 },
      revocation,
    });
  let api = open();
  const { signal } = new AbortController();
  await api.heartbeat({ version: "1.0.0" }, 0, signal);
  // The agent was restarted since its first heartbeat.
  await api.close();
  api = open();
  const file = join(folder, "file");
  writeFileSync(file, gzipSync("content"));
  return {
    owner,
    worker,
    job,
    spec_id,
    proxy,
    place,
    revocation,
    api,
    signal,
    file,
    open,
    calls: api.forJob(job.id, 1),
    [Symbol.asyncDispose]: async () => {
      await api.close();
      await proxy.close();
    },
  };
}
type HeldJob = Awaited<ReturnType<typeof heldJob>>;

const artifact = async ({ job, worker, file }: HeldJob) => {
  const path = `/api/jobs/${job.id}/plan-artifact`;
  const { body } = await ask(plane, "GET", path, { headers: worker.headers });
  return body.equals(readFileSync(file));
};
const upload = async ({ job, worker }: HeldJob) => {
  const path = `/api/jobs/${job.id}/plan-artifact`;
  await ask(plane, "POST", path, { headers: worker.headers, body: Buffer.from("stored") });
};
const writeState = async ({ job, spec_id }: HeldJob) => {
  const headers = stateHeaders(plane, job);
  const path = `/api/state/${spec_id}`;
  await ask(plane, "LOCK", path, { headers, json: { ID: "lock" } });
  const resources = [{ mode: "managed", type: "t", name: "n", instances: [{}] }];
  const state = { version: 4, serial: 1, lineage: "l", outputs: {}, resources };
  const body = Buffer.from(JSON.stringify(state));
  const stored = await ask(plane, "POST", `${path}?ID=lock`, { headers, body });
  expect(stored.status).toBe(200);
  return jobCredential(plane, job).password;
};
const post = ({ calls }: HeldJob) =>
  deliver([{ log_chunk: "line\n", stream_type: "STDOUT", seq: 1 }], Promise.resolve(), {
    sink: calls,
    retry: { first: 1, most: 1 },
    patience: 10_000,
    closed: new AbortController().signal,
    recall: () => [],
    onAnswer: () => undefined,
  });

/** Each call, and what the test sees of it once the control plane has responded. */
const calls: Record<string, (held: HeldJob) => Promise<unknown>> = {
  heartbeat: async ({ api, signal }) => {
    const { cancelled_job_ids } = await api.heartbeat({ version: "1.0.0" }, 0, signal);
    return cancelled_job_ids;
  },
  claim: async ({ api, signal, owner }) => {
    const { id } = await addJob(plane.context.store, owner);
    return (await api.claim(0, "key", signal))?.job.id === id;
  },
  "report of the end": async ({ calls, job }) => {
    await calls.reportStatus({ status: "SUCCESS" });
    return (await readJob(plane, job)).status;
  },
  "log post": async (held) => {
    await post(held);
    const path = `/api/jobs/${held.job.id}/logs`;
    const { logs } = (await ask(plane, "GET", path, { headers: held.worker.headers })).json();
    return (logs as unknown[]).length;
  },
  "upload of the plan": async (held) => {
    await held.calls.uploadPlan(held.file, held.signal);
    return artifact(held);
  },
  "upload of the debug log": async (held) => held.calls.uploadDebugLog(held.file),
  "download of the plan": async (held) => {
    await upload(held);
    const file = `${held.file}.plan`;
    return (await held.calls.downloadPlan(file, held.signal)) && readFileSync(file, "utf8");
  },
  "download of the source": async ({ calls, file, signal }) =>
    calls.downloadSource(`${file}.source`, signal).catch((error: unknown) => {
      if (error instanceof JobRefusedError) return "refused";
      throw error;
    }),
  "search for a state": async (held) => {
    const token = await writeState(held);
    return held.calls.hasState(held.spec_id, token, held.signal);
  },
  "read of a state": async (held) => {
    const token = await writeState(held);
    const text = await held.calls.readState(held.spec_id, token, 10_000);
    return (JSON.parse(text ?? "{}") as { lineage?: string }).lineage;
  },
};

test.each([
  ["heartbeat", []],
  ["claim", true],
  ["report of the end", "SUCCESS"],
  ["log post", 1],
  ["upload of the plan", true],
  ["upload of the debug log", undefined],
  ["download of the plan", "stored"],
  ["download of the source", "refused"],
  ["search for a state", true],
  ["read of a state", "l"],
])("the %s is repeated until the control plane responds", async (name, expected) => {
  await using held = await heldJob();
  const left = [...pages];
  held.proxy.onRequest = () => left.shift() ?? true;
  expect(await calls[name]?.(held)).toEqual(expected);
  expect(left).toEqual([]);
  expect(held.revocation.isRevoked).toBe(false);
});

test("a proxy that refuses one call for good does not hold up its job", async () => {
  await using held = await heldJob();
  const { proxy, revocation, file, signal } = held;
  proxy.onRequest = ({ path }) => {
    revocation.accepted();
    return path.endsWith("/logs") || path.endsWith("/plan-artifact")
      ? { status: 413, ...html }
      : true;
  };
  const refusal = { name: "JobRefusedError", message: expect.stringContaining("413") };
  await expect(held.calls.uploadPlan(file, signal)).rejects.toMatchObject(refusal);
  await expect(post(held)).rejects.toMatchObject(refusal);
});

test("refusals of the control plane end a call, also a log post", async () => {
  await using held = await heldJob();
  const other: JobApi = held.api.forJob(held.job.id, 2);
  const lost = { name: "JobRefusedError", reason: "lost" };
  await expect(other.reportStatus({ status: "SUCCESS" })).rejects.toMatchObject(lost);
  await expect(other.uploadPlan(held.file, held.signal)).rejects.toMatchObject(lost);
  const chunk = { log_chunk: "line\n", stream_type: "STDOUT", seq: 1 } as const;
  const posted = other.appendLogs([chunk], held.signal);
  await expect(posted).rejects.toMatchObject({ status: 409, code: "not_job_holder" });
});

test("the acknowledgement of a control plane without job_id counts, one of another job does not", async () => {
  await using held = await heldJob();
  const chunk = { log_chunk: "line\n", stream_type: "STDOUT", seq: 1 } as const;
  const older = { id: 7, job_status: "CANCELLED" };
  const answerAll = (body: object) => {
    held.proxy.onRequest = ({ path }) => path.endsWith("/proof") || { status: 201, ...json(body) };
  };
  answerAll(older);
  const answer = await held.calls.appendLogs([chunk], held.signal);
  expect(answer).toEqual({ job_status: "CANCELLED" });
  answerAll({ ...older, job_id: held.owner.id });
  const posted = held.calls.appendLogs([chunk], held.signal);
  const failure = await posted.catch((error: unknown) => sortFailure(error));
  expect(failure).toEqual({ kind: "retry", after: 0 });
});

test("a server is known at its address only", async () => {
  await using held = await heldJob();
  const { place } = held;
  expect(openKnownServer(place).reportsTime).toBe(true);
  expect(openKnownServer({ ...place, url: "http://other" }).reportsTime).toBe(false);
  // A server that has sent no server_time may respond anything.
  const known = openKnownServer({ ...place, url: "http://other" });
  const plain = held.open(known);
  held.proxy.onRequest = () => ({ status: 200, ...html });
  await plain.heartbeat({ version: "1.0.0" }, 0, held.signal);
  await plain.forJob(held.job.id, undefined).reportStatus({ status: "SUCCESS" });
  expect(known.reportsTime).toBe(false);
  await plain.close();
});
