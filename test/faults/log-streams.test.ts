import { get, type IncomingMessage, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { appendChunk } from "../../control-plane/store/logs/logs.ts";
import type { LogChunk } from "../../protocol/jobs.ts";
import { addTestUser } from "../helpers/people/user.ts";
import {
  addHeldJob,
  ask,
  clientHeaders,
  type Plane,
  setRows,
  startPlane,
} from "../helpers/plane/plane.ts";
import { proving } from "../helpers/project/proving.ts";

/** How many seconds a reader may read nothing while data waits for it. */
const patienceSeconds = 3;
const readers = proving ? 500 : 50;
const streams = readers + 20;

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane({
    WINDLASS_REQUEST_SECONDS: String(patienceSeconds),
    WINDLASS_TEST_LIMITS: `{"streamsPerPerson": ${streams}}`,
  });
});
afterAll(() => plane.close());

interface Seen {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Follows a stream until it closes, or until `enough` returns true, and then disconnects. */
async function follow(
  path: string,
  headers: Record<string, string>,
  enough: (seen: Seen[]) => boolean = () => false,
): Promise<Seen[]> {
  const request = get(plane.url + path, { headers, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  return eventsOf(response, enough);
}

/** The events of a whole stream. */
const framesOf = (text: string): Seen[] =>
  text.split("\n\n").flatMap((frame) => {
    const field = (name: string) => new RegExp(`^${name}: ([^\\n]*)`, "m").exec(frame)?.[1];
    const event = field("event");
    return event === undefined ? [] : [{ event, id: field("id"), data: field("data") ?? "" }];
  });

/**
 * Sends a request and reads nothing of the response. Resolves with the server's side of the
 * response once it has begun.
 */
async function stall(path: string, headers: Record<string, string>): Promise<ServerResponse> {
  const { hostname, port } = new URL(plane.url);
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  const onStart = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url === path && request.headers["x-stalled"] === "yes") resolve(response);
  };
  subscribe("http.server.request.start", onStart);
  const lines = Object.entries({ host: "x", "x-stalled": "yes", ...headers });
  const socket = connect(Number(port), hostname, () =>
    socket.write(
      `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
    ),
  );
  socket.on("error", () => undefined).pause();
  // Data that the client sends does not extend its time.
  const sending = setInterval(() => socket.writable && socket.write("\r\n"), 200);
  const response = await promise;
  unsubscribe("http.server.request.start", onStart);
  response.once("close", () => {
    clearInterval(sending);
    socket.destroy();
  });
  return response;
}

async function eventsOf(
  response: IncomingMessage,
  enough: (seen: Seen[]) => boolean = () => false,
): Promise<Seen[]> {
  const seen: Seen[] = [];
  let rest = "";
  for await (const text of response.setEncoding("utf8")) {
    const frames = (rest + String(text)).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      seen.push(...framesOf(frame));
      if (enough(seen)) {
        response.destroy();
        return seen;
      }
    }
  }
  return seen;
}

const logsOf = (seen: Seen[]): LogChunk[] =>
  seen.flatMap(({ event, data }) => (event === "log" ? [JSON.parse(data) as LogChunk] : []));

async function runningJob() {
  const { owner, headers, worker, runner } = await addTestUser(plane);
  const job = await addHeldJob(plane, owner, worker);

  const params = { id: job.id };
  return {
    owner,
    jobId: job.id,
    path: `/api/jobs/${job.id}/logs/stream`,
    headers,
    post: (log_chunk: string) =>
      runner.call("appendLogs", { params, body: { log_chunk, stream_type: "STDOUT" } }),
    succeed: () => runner.call("reportStatus", { params, body: { status: "SUCCESS" } }),
  };
}

describe("a log of more than 20 MB whose reader stalls", () => {
  let job: Awaited<ReturnType<typeof runningJob>>;
  beforeAll(async () => {
    job = await runningJob();
    for (let n = 0; n < 240; n += 1) await job.post("z".repeat(100_000));
  });

  it.concurrent.each([
    "/api/cli/jobs/:id/logs",
    "/api/cli/jobs/:id/logs?limit=1000",
    "/api/jobs/:id/logs/stream",
  ])(
    "keeps at most one page in memory at %s, until the reader is disconnected",
    async (url) => {
      const { jobId, headers } = job;
      const response = await stall(url.replace(":id", jobId), headers);
      let most = 0;
      const look = setInterval(() => (most = Math.max(most, response.writableLength)), 5);
      await once(response, "close");
      clearInterval(look);
      expect(response.writableFinished).toBe(false);
      expect(most).toBeGreaterThan(0);
      expect(most).toBeLessThan(512 * 1024);
    },
    60_000,
  );

  it.concurrent("disconnects a stalled live reader without affecting other readers", async () => {
    const { path, headers, post, succeed } = await runningJob();
    const stalled = await stall(path, headers);
    const closed = once(stalled, "close");
    const following = follow(path, headers);
    // More than the buffers of both sockets.
    const chunk = "x".repeat(900_000);
    for (let n = 0; n < 24; n += 1) await post(chunk);
    await succeed();
    expect(logsOf(await following)).toHaveLength(24);
    await closed;
    expect(stalled.writableFinished).toBe(false);
  }, 60_000);

  it("is disconnected at once when the reader's login is ended", async () => {
    const { jobId, owner } = job;
    const headers = await clientHeaders(plane, owner);
    const response = await stall(`/api/cli/jobs/${jobId}/logs`, headers);
    const closed = once(response, "close");
    const listed = await ask(plane, "GET", "/api/cli/logins", { headers });
    const logins = listed.json()["logins"] as { id: string; current: boolean }[];
    const login = logins.find(({ current }) => current);
    await ask(plane, "DELETE", `/api/cli/logins/${login?.id}`, { headers });
    await closed;
    expect(response.writableFinished).toBe(false);
  });
});

describe("the log stream", () => {
  it("sends the log so far, new chunks and status changes, and ends after the last chunk", async () => {
    const { path, headers, post, succeed } = await runningJob();
    const first = await post("one\n\u2028two");
    const following = follow(path, headers, () => false);
    await post("three");
    await succeed();
    const seen = await following;
    expect(logsOf(seen).map(({ log_chunk }) => log_chunk)).toEqual(["one\n\u2028two", "three"]);
    expect(seen.find(({ event }) => event === "log")?.id).toBe(String(first.id));
    expect(seen[0]?.event).toBe("status");
    expect(seen.at(-1)?.event).toBe("end");
    expect(JSON.parse(seen.at(-1)?.data ?? "")).toMatchObject({ status: "SUCCESS" });
    // After the end of the job, everything comes at once.
    expect(logsOf(await follow(path, headers))).toEqual(logsOf(seen));
    const wrong = { ...headers, "last-event-id": "x" };
    expect((await ask(plane, "GET", path, { headers: wrong })).status).toBe(400);
  });

  it("sends an ended log that is larger than the socket buffers to a slow reader", async () => {
    const { path, headers, post, succeed } = await runningJob();
    // Fewer chunks than one page, and more bytes than a live reader may be behind.
    for (let n = 0; n < 12; n += 1) await post(`${n} ${"y".repeat(600_000)}`);
    await succeed();
    const request = get(plane.url + path, { headers, agent: false });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    await sleep(200);
    const seen = await eventsOf(response);
    expect(logsOf(seen).map(({ log_chunk }) => parseInt(log_chunk, 10))).toEqual(
      Array.from({ length: 12 }, (_, n) => n),
    );
    expect(seen.at(-1)?.event).toBe("end");
  });

  it("sends all readers every chunk once and in order while one of them is slow", async () => {
    const { path, headers, post, succeed } = await runningJob();
    // More than the buffers of both sockets, so that the slow reader really blocks.
    const early = Array.from({ length: 120 }, (_, n) => `early ${n} ${"y".repeat(100_000)}`);
    let last = 0;
    for (const chunk of early) last = (await post(chunk)).id;
    const request = get(plane.url + path, { headers, agent: false });
    const [slow] = (await once(request, "response")) as [IncomingMessage];
    slow.pause();
    // Reads a little at a time: it is slow, not stalled.
    const taken: Buffer[] = [];
    const sips = setInterval(() => {
      const part = slow.read() as Buffer | null;
      if (part) taken.push(part);
    }, 50);
    const following = Array.from({ length: readers - 1 }, () =>
      follow(`${path}?after=${last}`, headers),
    );
    const posted: string[] = [];
    for (let n = 1; n <= 40; n += 1) {
      posted.push(`${n} ${"x".repeat(4000)}`);
      await post(posted.at(-1) ?? "");
    }
    await succeed();
    for (const seen of await Promise.all(following)) {
      expect(logsOf(seen).map(({ log_chunk }) => log_chunk)).toEqual(posted);
      expect(seen.at(-1)?.event).toBe("end");
    }
    // The slow reader still gets everything, at its own pace.
    clearInterval(sips);
    for await (const part of slow) taken.push(part as Buffer);
    const seen = framesOf(Buffer.concat(taken).toString());
    expect(logsOf(seen).map(({ log_chunk }) => log_chunk)).toEqual([...early, ...posted]);
    expect(seen.at(-1)?.event).toBe("end");
  });

  it("is limited to a number of open streams per user, and a closed one makes room", async () => {
    const few = await startPlane({ WINDLASS_TEST_LIMITS: '{"streamsPerPerson": 2}' });
    const before = plane;
    plane = few;
    try {
      const { path, headers } = await runningJob();
      const open = async () => {
        const request = get(plane.url + path, { headers, agent: false });
        const [response] = (await once(request, "response")) as [IncomingMessage];
        return response.on("error", () => undefined).resume();
      };
      const [first, second] = [await open(), await open()];
      const refused = await ask(plane, "GET", path, { headers });
      expect([refused.status, refused.json().code, refused.headers["retry-after"]]).toEqual([
        429,
        "too_many_requests",
        "5",
      ]);
      const other = await runningJob();
      const theirs = get(plane.url + other.path, { headers: other.headers, agent: false });
      const [third] = (await once(theirs, "response")) as [IncomingMessage];
      expect(third.statusCode).toBe(200);
      first.destroy();
      await expect.poll(async () => (await open()).statusCode).toBe(200);
      for (const response of [second, third]) response.destroy();
    } finally {
      plane = before;
      await few.close();
    }
  });

  it("resumes after any cut without a gap or a duplicate", async () => {
    const { path, headers, post, succeed } = await runningJob();
    const posting = (async () => {
      for (let n = 1; n <= 120; n += 1) await post(String(n));
      await succeed();
    })();
    const chunks: LogChunk[] = [];
    for (let round = 1; ; round += 1) {
      const last = String(chunks.at(-1)?.id ?? 0);
      const resume = round % 2 ? { ...headers, "last-event-id": last } : { ...headers };
      const seen = await follow(
        round % 2 ? path : `${path}?after=${last}`,
        resume,
        (events) => logsOf(events).length >= (round % 5) + 1,
      );
      chunks.push(...logsOf(seen));
      if (seen.at(-1)?.event === "end") break;
    }
    await posting;
    expect(chunks.map(({ log_chunk }) => log_chunk)).toEqual(
      Array.from({ length: 120 }, (_, index) => String(index + 1)),
    );
  });

  it("is cut at once when its login is ended, and when the login expires", async () => {
    for (const end of [
      (headers: Record<string, string>, id: string) =>
        ask(plane, "DELETE", `/api/cli/logins/${id}`, { headers }),
      (_: unknown, id: string) => setRows(plane, "logins", { expires_at: 1 }, { id }),
    ]) {
      const { path, headers, post } = await runningJob();
      const other = await runningJob();
      const staying = follow(other.path, other.headers);
      await post("before");
      const listed = await ask(plane, "GET", "/api/cli/logins", { headers });
      const [login] = listed.json()["logins"] as [{ id: string }];
      const request = get(plane.url + path, { headers, agent: false });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      const cut = once(response.resume(), "error");
      await end(headers, login.id);
      expect(((await cut) as [Error])[0].message).toBe("aborted");
      expect((await ask(plane, "GET", path, { headers })).status).toBe(401);
      // Other users' streams stay open.
      await other.succeed();
      expect((await staying).at(-1)?.event).toBe("end");
    }
  });

  it("sends a comment every 15 s, and finds changes within 2 s without a wakeup", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const before = plane;
    plane = await startPlane();
    try {
      const { path, headers, jobId } = await runningJob();
      const request = get(plane.url + path, { headers, agent: false });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      // Not vi.waitFor: under fake timers it advances the clock itself.
      const shows = async (what: RegExp) => {
        while (!what.test(text)) await sleep(5);
      };
      await shows(/event: status/);
      vi.advanceTimersByTime(14_000);
      await plane.context.store.write((tx) =>
        tx.first(appendChunk, {
          job: jobId,
          seq: null,
          stream_type: "STDOUT",
          log_chunk: "no wakeup",
          step: null,
          resource: null,
          now: Date.now(),
        }),
      );
      expect(text).not.toMatch(/^:$|no wakeup/m);
      vi.advanceTimersByTime(1000);
      await shows(/^:$/m);
      expect(text).not.toContain("no wakeup");
      vi.advanceTimersByTime(1000);
      await shows(/no wakeup/);
      response.destroy();
    } finally {
      vi.useRealTimers();
      await plane.close();
      plane = before;
    }
  });
});
