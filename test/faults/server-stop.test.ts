/** SIGTERM of the real server: accepted requests get responses, and it ends in bounded time. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, get, request, type ClientRequest, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { WorkerCaller } from "../../control-plane/services/callers.ts";
import { Claims } from "../../control-plane/services/claims/claims.ts";
import { heartbeat } from "../../control-plane/services/workers/heartbeats.ts";
import { findWorkerCaller } from "../../control-plane/store/workers/workers.ts";
import { seeded } from "../helpers/plane/hostile-values.ts";
import { findBreaches, findUnacknowledged } from "../helpers/load/acknowledged.ts";
import { Load } from "../helpers/load/load.ts";
import { addTestWorker, ask, startPlane } from "../helpers/plane/plane.ts";
import { findUnserved } from "../helpers/load/find-unserved.ts";
import { addOwner } from "../helpers/plane/rows.ts";
import { newLink, spawnServer, type ServerProcess } from "../helpers/plane/server-process.ts";
import { cookieOf } from "../helpers/people/sign-in.ts";
import { proving } from "../helpers/project/proving.ts";
import { folderForEachTest } from "../helpers/machine/folders.ts";

const rounds = proving ? 100 : 3;

interface Runner {
  readonly url: string;
  readonly person: Record<string, string>;
  readonly worker: Record<string, string>;
  /** The path of a job that the worker has claimed. */
  readonly job: string;
}

/** A user, a worker of the user and a PLAN that the worker holds. */
async function newRunner(url: string, directory: string): Promise<Runner> {
  const opened = await ask({ url }, "GET", await newLink(directory));
  const person = {
    cookie: cookieOf(opened) ?? "",
    "sec-fetch-site": "same-origin",
    "content-type": "application/json",
  };
  const make = async (path: string, body: unknown, headers: Record<string, string> = person) =>
    (await ask({ url }, "POST", path, { headers, body: JSON.stringify(body) })).json() as never;
  const zone = (await make("/api/cli/zones", { name: "zone" })) as { id: string };
  const source = { type: "inline", files: { "main.tf": "" } };
  const configuration = (await make("/api/cli/configurations", {
    name: "c",
    zone_id: zone.id,
    source,
  })) as { id: string };
  const made = (await make("/api/cli/workers", { name: "w" })) as Record<string, string>;
  const worker = {
    "x-worker-id": made["worker_id"] ?? "",
    "x-worker-token": made["worker_token"] ?? "",
  };
  await make("/api/jobs", { job_type: "PLAN", configuration_id: configuration.id });
  const { job } = (await make("/api/jobs/claim", {}, worker)) as { job: { id: string } };
  return { url, person, worker, job: `/api/jobs/${job.id}` };
}

const responseTo = async (sent: ClientRequest) =>
  (await once(sent, "response"))[0] as IncomingMessage;

async function bodyOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of response.setEncoding("utf8")) text += String(part);
  return text;
}

/** Sends SIGTERM, and returns the exit code and the time until the end. */
async function stop(server: ServerProcess): Promise<{ code: number | null; seconds: number }> {
  const startedAt = performance.now();
  server.kill("SIGTERM");
  const code = await server.exited;
  return { code, seconds: (performance.now() - startedAt) / 1000 };
}

describe("SIGTERM of the server", () => {
  let directory: string;
  folderForEachTest((path) => {
    directory = path;
  });

  it("responds to every accepted request under load, and stores exactly the acknowledged changes", async () => {
    const load = new Load(seeded(7));
    await using first = spawnServer(directory);
    load.url = await first.ready;
    await load.start(await newLink(directory));
    let server = first;
    for (let round = 0; round < rounds; round += 1) {
      await sleep(200 + load.random() * 300);
      expect(await stop(server)).toMatchObject({ code: 0 });
      // The last responses are still being read by this process.
      await sleep(50);
      expect(load.failures).toEqual([]);
      expect(await findBreaches(directory, load.acknowledged)).toEqual([]);
      expect(findUnacknowledged(directory, load.acknowledged)).toEqual([]);
      expect(server.log()).not.toMatch(/"level":[56]0/);
      server = spawnServer(directory);
      load.url = await server.ready;
    }
    await using last = server;
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(await findUnserved(load)).toEqual([]);
    expect(load.acknowledged.ended.size).toBeGreaterThan(2);
    expect(await stop(last)).toMatchObject({ code: 0 });
  });

  it("ends waiting claims, heartbeats and log streams at once, and refuses new connections", async () => {
    await using server = spawnServer(directory);
    const { url, person, worker, job } = await newRunner(await server.ready, directory);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const slow = new Agent({ keepAlive: true, maxSockets: 1 });
    const json = { ...worker, "content-type": "application/json" };
    const claim = request(`${url}/api/jobs/claim?wait=30`, {
      method: "POST",
      headers: worker,
      agent,
    });
    claim.end();
    const beat = request(`${url}/api/workers/heartbeat?wait=30`, {
      method: "POST",
      headers: json,
    });
    beat.end(JSON.stringify({ version: "1.0.0" }));
    const stream = get(`${url}${job}/logs/stream`, { headers: person, agent: false });
    const streamed = bodyOf(await responseTo(stream));
    // A post with an incomplete body keeps the server running until the other responses are read.
    const post = request(`${url}${job}/logs`, { method: "POST", headers: json, agent: slow });
    const text = JSON.stringify({ log_chunk: "x", stream_type: "STDOUT" });
    post.write(text.slice(0, 5));
    await sleep(200);
    const startedAt = performance.now();
    server.kill("SIGTERM");
    const [claimed, beaten] = await Promise.all([responseTo(claim), responseTo(beat)]);
    expect([claimed.statusCode, beaten.statusCode]).toEqual([204, 200]);
    expect([claimed.headers.connection, beaten.headers.connection]).toEqual(["close", "close"]);
    expect(await bodyOf(beaten)).toContain('"cancelled_job_ids":[]');
    expect(await streamed).toMatch(/^event: status\n/);
    expect(await streamed).not.toContain("event: end");
    // Without the signal they wait for 30 s.
    expect(performance.now() - startedAt).toBeLessThan(25_000);
    await expect(ask({ url }, "GET", "/readyz")).rejects.toThrow(/ECONNREFUSED/);
    post.end(text.slice(5));
    expect((await responseTo(post)).statusCode).toBe(201);
    expect(await server.exited).toBe(0);
    agent.destroy();
    slow.destroy();
  });

  it("responds with 503 and Retry-After to requests on open connections, including uploads", async () => {
    const plane = await startPlane();
    plane.context.drain();
    const body = randomBytes(5_000_000);
    for (const [method, path, options] of [
      ["GET", "/api/cli/zones", {}],
      ["POST", "/api/cli/archives", { body }],
    ] as const) {
      const answer = await ask(plane, method, path, options);
      expect(answer.status).toBe(503);
      expect(answer.json().code).toBe("unavailable");
      expect(answer.headers).toMatchObject({ "retry-after": "1", connection: "close" });
    }
    expect((await ask(plane, "GET", "/readyz")).status).toBe(503);
    expect((await ask(plane, "GET", "/healthz")).status).toBe(200);
    await plane.close();
  });

  it("opens no waiting claim after the signal, nor for a client that has disconnected", async () => {
    const plane = await startPlane();
    const { context } = plane;
    const { id } = await addTestWorker(plane, await addOwner(context.store));
    const row = await context.store.read.first(findWorkerCaller, { id });
    const worker = { ...row, presented_hash: row?.token_hash } as WorkerCaller;
    const claims = new Claims(context);
    const openWaiting = (gone: AbortSignal) => [
      claims.claim({ worker, key: undefined, waitMilliseconds: 60_000, disconnected: () => gone }),
      heartbeat(context, {
        worker,
        body: { version: "1.0.0" },
        waitMilliseconds: 60_000,
        disconnected: () => gone,
      }),
    ];
    await Promise.all(openWaiting(AbortSignal.abort()));
    const waiting = openWaiting(new AbortController().signal);
    context.drain();
    await Promise.all(waiting);
    await claims.close();
    await plane.close();
  });

  it("accepts the rest of a 50 MB upload, and closes the connection of a client that does not read", async () => {
    await using server = spawnServer(directory, { WINDLASS_DRAIN_SECONDS: "120" });
    const { url, worker, job } = await newRunner(await server.ready, directory);
    const content = randomBytes(52_428_800);
    const upload = request(`${url}${job}/plan-artifact`, {
      method: "POST",
      headers: { ...worker, "content-type": "application/octet-stream" },
    });
    upload.write(content.subarray(0, 20_000_000));
    await sleep(200);
    server.kill("SIGTERM");
    await sleep(200);
    upload.end(content.subarray(20_000_000));
    expect((await responseTo(upload)).statusCode).toBe(201);
    expect(await server.exited).toBe(0);

    await using second = spawnServer(directory, { WINDLASS_DRAIN_SECONDS: "1" });
    const stalled = get(`${await second.ready}${job}/plan-artifact`, {
      headers: worker,
      agent: false,
    });
    const answer = await responseTo(stalled);
    answer.on("error", () => undefined).pause();
    const { code, seconds } = await stop(second);
    expect(code).toBe(0);
    expect(seconds).toBeGreaterThan(0.9);
    expect(seconds).toBeLessThan(60);
    expect(second.log()).toContain("closing the connections of clients");
    stalled.destroy();
  });

  it("ends at once on a second SIGTERM", async () => {
    await using server = spawnServer(directory);
    const { url, worker, job } = await newRunner(await server.ready, directory);
    const upload = request(`${url}${job}/plan-artifact`, {
      method: "POST",
      headers: { ...worker, "content-type": "application/octet-stream" },
    });
    upload.on("error", () => undefined).write("half");
    await sleep(100);
    server.kill("SIGTERM");
    await sleep(300);
    expect(await stop(server)).toMatchObject({ code: 1 });
  });
});
