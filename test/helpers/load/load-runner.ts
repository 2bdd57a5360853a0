/** Runs one job of the load, from its start to the report of its end. */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sha256, type AcknowledgedChunk } from "./acknowledged.ts";
import type { Load } from "./load.ts";
import type { TestResponse } from "../plane/plane.ts";

/** The fields of a claimed job that are needed here. */
export interface Claimed {
  readonly id: string;
  readonly job_type: "PLAN" | "DEPLOY";
  readonly attempt: number;
  readonly spec_id: string;
  readonly job_token: string;
}

/** Does everything that an agent does for a job. */
export async function runJob(
  load: Load,
  worker: Record<string, string>,
  job: Claimed,
  configuration: string,
): Promise<void> {
  const { acknowledged } = load;
  const headers = { ...worker, "x-job-attempt": String(job.attempt) };
  const path = `/api/jobs/${job.id}`;
  await load.call("PUT", `${path}/status`, { headers, json: { status: "PROCESSING" } });
  acknowledged.started.add(job.id);
  const log: AcknowledgedChunk[] = [];
  acknowledged.logs.set(job.id, log);
  let next = 1;
  const post = async (): Promise<void> => {
    const count = load.random() < 0.5 ? 1 : 1 + Math.floor(load.random() * 20);
    const chunks = Array.from({ length: count }, () => ({
      seq: next++,
      text: randomBytes(1 + Math.floor(load.random() * 1500)).toString("base64"),
    }));
    const wire = chunks.map(({ seq, text }) => ({ seq, log_chunk: text, stream_type: "STDOUT" }));
    const json = wire.length === 1 ? wire[0] : { chunks: wire };
    const { id } = (await inTurn(load, `${path}/logs`, headers, json)).json() as { id: number };
    // The response has the id of the last chunk only.
    log.push(...chunks.slice(0, -1), ...chunks.slice(-1).map((last) => ({ ...last, id })));
  };
  // Two posts are in progress at once, as with the agent.
  for (let n = 0; n < 3; n += 1) await Promise.all([post(), post()]);
  if (job.job_type === "PLAN") await uploadPlan(load, headers, job.id);
  else await writeStates(load, job, configuration);
  await post();
  const last_seq = next - 1;
  const json = { status: "SUCCESS", last_seq };
  await load.call("PUT", `${path}/status`, { headers, json });
  acknowledged.ended.set(job.id, { lastSeq: last_seq });
}

/** Repeats a post that is refused because its predecessor is not stored yet. */
async function inTurn(
  load: Load,
  path: string,
  headers: Record<string, string>,
  json: unknown,
): Promise<TestResponse> {
  for (;;) {
    const answer = await load.call("POST", path, { headers, json, expect: [200, 201, 409] });
    if (answer.status !== 409) return answer;
    if (answer.json().code !== "log_gap") throw new Error(`a log post: ${answer.body.toString()}`);
  }
}

async function uploadPlan(load: Load, headers: Record<string, string>, job: string) {
  const content = randomBytes(1 + Math.floor(load.random() * 400_000));
  const digest = sha256(content);
  const base64 = createHash("sha256").update(content).digest("base64");
  // Sometimes over a slow connection, so that a kill cuts it in the middle.
  const isSlow = load.random() < 0.3;
  await load.call("POST", `/api/jobs/${job}/plan-artifact`, {
    headers: {
      ...headers,
      "content-type": "application/octet-stream",
      "content-digest": `sha-256=:${base64}:`,
    },
    bytes: () => (isSlow ? inPieces(content) : content),
    expect: [200, 201],
  });
  load.acknowledged.artifacts.set(job, digest);
}

async function* inPieces(content: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += 65_536) {
    yield content.subarray(at, at + 65_536);
    await sleep(10);
  }
}

async function writeStates(load: Load, job: Claimed, configuration: string): Promise<void> {
  const credential = Buffer.from(`${job.id}:${job.job_token}`).toString("base64");
  const headers = { authorization: `Basic ${credential}` };
  const path = `/api/state/${job.spec_id}`;
  const versions = load.acknowledged.states.get(configuration) ?? new Map<number, Buffer>();
  const json = { ID: randomUUID(), Operation: "OperationTypeApply" };
  await load.call("LOCK", path, { headers, json });
  const newest = await load.call("GET", path, { headers, expect: [200, 204] });
  const known = versions.get(versions.size) ?? Buffer.alloc(0);
  if (!newest.body.equals(known)) throw new Error(`the state of ${configuration} is another one`);
  for (let n = 0; n < 2; n += 1) {
    const serial = versions.size + 1;
    const content = Buffer.from(
      JSON.stringify({
        version: 4,
        serial,
        lineage: configuration,
        resources: [],
        pad: randomBytes(Math.floor(load.random() * 60_000)).toString("hex"),
      }),
    );
    await load.call("POST", `${path}?ID=${json.ID}`, {
      headers: { ...headers, "content-type": "application/json" },
      bytes: () => content,
    });
    versions.set(serial, content);
  }
  await load.call("UNLOCK", path, { headers, json });
}
