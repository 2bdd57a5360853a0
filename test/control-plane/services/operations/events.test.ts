/** The lines that the server logs about jobs and workers. */
import { pino } from "pino";
import { describe, expect, it, vi } from "vitest";
import { logEvents } from "../../../../control-plane/services/operations/events.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();

/** Logs to memory from now on. */
function logLines() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  logEvents(plane.context, pino({ base: null }, { write }));
  return {
    lines,
    /** Resolves with the lines of one thing when there are as many. */
    of: (key: "job" | "worker_id", id: string, amount: number) =>
      vi.waitFor(
        () => {
          const found = lines.filter((line) => line[key] === id);
          expect(found).toHaveLength(amount);
          return found;
        },
        { timeout: 60_000 },
      ),
  };
}

describe("the server's log", () => {
  it("has a line for each event of a job: who, what, which configuration, how long", async () => {
    const log = logLines();
    const user = await openSampleUser(plane, "ada@example.com");
    const configuration_id = await user.configure("network");
    const { id } = await user.queue({ job_type: "DEPLOY", configuration_id });
    await user.start();
    await user.end(id, "FAILED", { error_message: "not-in-the-log" });
    const known = { job: id, type: "DEPLOY", configuration: "network", by: "ada@example.com" };
    const lines = await log.of("job", id, 4);
    expect(lines).toMatchObject([
      { ...known, msg: "job queued", status: "QUEUED" },
      { ...known, msg: "job claimed", status: "PROCESSING", waited_seconds: expect.any(Number) },
      { ...known, msg: "job started", status: "PROCESSING", worker: expect.any(String) },
      { ...known, msg: "job ended", status: "FAILED", seconds: expect.any(Number) },
    ]);
    expect(JSON.stringify(lines)).not.toContain("not-in-the-log");
  });

  it("names the person who cancels a job", async () => {
    const log = logLines();
    const user = await openSampleUser(plane, "grace@example.com");
    const configuration_id = await user.configure("network");
    const { id } = await user.queue({ job_type: "PLAN", configuration_id });
    await user.client.call("cancelJob", { params: { id } });
    expect((await log.of("job", id, 2))[1]).toMatchObject({
      msg: "job ended",
      status: "CANCELLED",
      by: "grace@example.com",
    });
  });

  it("names no worker for a queued job, even if it is claimed before the line is written", async () => {
    const log = logLines();
    const user = await openSampleUser(plane, "mary@example.com");
    const configuration_id = await user.configure("network");
    const { id } = await user.queue({ job_type: "PLAN", configuration_id });
    await user.start();
    const [, claimed] = await log.of("job", id, 3);
    expect(claimed).toMatchObject({ msg: "job claimed", worker: expect.any(String) });
    for (const what of ["queued", "queued again"] as const) {
      const event = { what, id, job_type: "PLAN", status: "QUEUED" } as const;
      plane.context.wakeups.notify("job_event", event);
    }
    const queued = (await log.of("job", id, 5)).slice(3);
    expect(queued.map(({ worker }) => worker)).toEqual([undefined, undefined]);
  });

  it("has a line for each event of a worker", async () => {
    const log = logLines();
    const user = await openSampleUser(plane, "joan@example.com");
    const { client } = user;
    const body = { name: "runner-1" };
    const { worker_id: id, worker_token } = await client.call("createWorker", { body });
    const runner = callsOf(plane, { "x-worker-id": id, "x-worker-token": worker_token });
    await runner.call("heartbeat", { query: {}, body: { version: "1.0.0" } });
    await client.call("drainWorker", { params: { id } });
    await client.call("undrainWorker", { params: { id } });
    await client.call("updateWorker", { params: { id }, body: { name: "renamed" } });
    await client.call("deleteWorker", { params: { id } });
    const lines = await log.of("worker_id", id, 6);
    expect(lines.map(({ msg }) => msg)).toEqual([
      "worker registered",
      "worker online",
      "worker is draining",
      "worker takes jobs again",
      "worker changed",
      "worker removed",
    ]);
    expect(lines.filter(({ by }) => by === "joan@example.com")).toHaveLength(5);
    expect(lines.at(-1)).toMatchObject({ worker: "renamed" });
  });
});
