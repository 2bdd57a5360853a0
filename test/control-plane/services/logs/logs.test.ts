import { setTimeout as pause } from "node:timers/promises";
import { describe, expect } from "vitest";
import type { AppendLogs, ReportStatus } from "../../../../protocol/executions.ts";
import { ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const [invalid, tooLarge] = ["400 invalid_request", "413 too_large"];
type Params = { readonly id: string };

const { plane, it: base } = planeForFile();
// The log calls of the runner and the client of each test.
const it = base.extend("log", ({ client, runner, spec }) => {
  const read = (params: Params, query = {}) => client.call("getJobLogs", { params, query });
  return {
    /** Queues a job and claims it. Returns its path parameters. */
    held: async (): Promise<Params> => {
      const body = { job_type: "PLAN", configuration_id: spec } as const;
      const { id } = await client.call("createJob", { body });
      await runner.call("claimJob");
      return { id };
    },
    append: (params: Params, body: AppendLogs) => runner.call("appendLogs", { params, body }),
    report: (params: Params, body: ReportStatus) => runner.call("reportStatus", { params, body }),
    read,
    texts: async (params: Params) => (await read(params)).logs.map(({ log_chunk }) => log_chunk),
  };
});

const chunk = (seq: number, log_chunk = `chunk ${seq}\n`) =>
  ({ log_chunk, stream_type: "STDOUT", seq }) as const;

describe("the log of a job", () => {
  it("keeps unnumbered posts in their order, and the first post starts the job", async ({
    log,
    client,
    runner,
  }) => {
    const job = await log.held();
    for (const log_chunk of ["one\n", "two", ""])
      await log.append(job, { log_chunk, stream_type: "STDERR" });
    expect(await log.texts(job)).toEqual(["one\n", "two", ""]);
    expect((await client.call("getJob", { params: job })).started_at).not.toBeNull();
    const whole = await log.read(job);
    expect(whole.logs[0]).toMatchObject({ job_id: job.id, stream_type: "STDERR" });
    expect(await runner.call("readLogs", { params: job, query: {} })).toEqual(whole);
  });

  it("is read in pages, after an id", async ({ log }) => {
    const job = await log.held();
    await log.append(job, { chunks: [1, 2, 3, 4, 5].map((seq) => chunk(seq)) });
    const first = await log.read(job, { limit: 2 });
    expect(first.logs).toHaveLength(2);
    expect(first.next_after).toBe(first.logs[1]!.id);
    const rest = await log.read(job, { after: first.next_after });
    expect(rest.logs.map(({ log_chunk }) => log_chunk)).toEqual([
      "chunk 3\n",
      "chunk 4\n",
      "chunk 5\n",
    ]);
    expect(rest.next_after).toBeNull();
    expect((await log.read(job, { after: first.next_after, limit: 3 })).next_after).toBeNull();
  });

  it("stores a numbered chunk once, however often it is sent", async ({ log }) => {
    const job = await log.held();
    const first = await log.append(job, { chunks: [chunk(1), chunk(2)] });
    expect(await log.append(job, { chunks: [chunk(1), chunk(2)] })).toEqual(first);
    const second = await log.append(job, { chunks: [chunk(2), chunk(3)] });
    expect(second.id).toBeGreaterThan(first.id);
    expect(await log.append(job, chunk(3))).toEqual(second);
    expect(await log.texts(job)).toEqual(["chunk 1\n", "chunk 2\n", "chunk 3\n"]);
  });

  it("returns 201 for a new chunk and 200 for a stored one", async ({ log, worker }) => {
    const job = await log.held();
    const post = () =>
      ask(plane, "POST", `/api/jobs/${job.id}/logs`, { headers: worker.headers, json: chunk(1) });
    expect((await post()).status).toBe(201);
    expect((await post()).status).toBe(200);
  });

  it("waits for a predecessor in transit, and refuses a gap", async ({ log, runner, worker }) => {
    const job = await log.held();
    const second = log.append(job, chunk(2));
    await pause(50);
    await log.append(job, chunk(1));
    await second;
    expect(await log.texts(job)).toEqual(["chunk 1\n", "chunk 2\n"]);
    expect(await runner.refusal("appendLogs", { params: job, body: chunk(4) })).toBe("409 log_gap");
    const answer = await ask(plane, "POST", `/api/jobs/${job.id}/logs`, {
      headers: worker.headers,
      json: chunk(9),
    });
    expect(answer.json()).toMatchObject({ code: "log_gap", expected_seq: 3 });
  });

  it("keeps every character, and reports a cancellation", async ({ log, client }) => {
    const job = await log.held();
    const text = "\u0000 \u001b[31mred\u001b[0m \r\n \ufffd 🚀 \u2028";
    await log.append(job, { log_chunk: text, stream_type: "STDOUT" });
    expect(await log.texts(job)).toEqual([text]);
    await client.call("cancelJob", { params: job });
    expect(await log.append(job, { log_chunk: "late", stream_type: "STDOUT" })).toMatchObject({
      job_status: "CANCELLED",
    });
  });

  it("accepts 1 MiB of text in one post, whatever its length as JSON", async ({ log }) => {
    const job = await log.held();
    const text = "\u0001".repeat(1024 ** 2);
    await log.append(job, chunk(1, text));
    expect(await log.texts(job)).toEqual([text]);
  });

  it("keeps the step of a SYSTEM chunk unless it is malformed", async ({ log, client, runner }) => {
    const job = await log.held();
    const step = { name: "plan", event: "started", at: "2026-11-21T10:15:02.120Z" } as const;
    const system = { stream_type: "SYSTEM", log_chunk: "" } as const;
    const wrong = [
      { ...step, event: "paused" },
      { ...step, name: "x\u0000" },
      { ...step, at: "noon" },
      "plan",
    ];
    const chunks = [
      { ...system, step },
      { ...system, stream_type: "STDOUT" as const, step },
      ...wrong.map((one) => ({ ...system, step: one as never })),
    ].map((chunk, index) => ({ ...chunk, seq: index + 1 }));
    await runner.call("appendLogs", { params: job, body: { chunks } });
    await runner.call("appendLogs", { params: job, body: { ...system, step } });
    const { logs } = await client.call("getJobLogs", { params: job, query: {} });
    expect(logs.map((chunk) => chunk.step)).toEqual([step, ...Array(5), step]);
    expect(logs[1]).not.toHaveProperty("step");
  });

  it("keeps the resource of a chunk unless it is malformed", async ({ log, client, runner }) => {
    const job = await log.held();
    const at = "2026-11-21T10:15:02.120Z";
    const resource = { address: 'a.b["x"]', action: "create", event: "started", at } as const;
    const output = { stream_type: "STDOUT", log_chunk: "x" } as const;
    const wrong = [
      { ...resource, event: "paused" },
      { ...resource, action: "melt" },
      { ...resource, address: "x".repeat(2000) },
      { ...resource, at: "noon" },
      "a.b",
    ];
    const chunks = [
      { ...output, resource: { ...resource, more: "x" } },
      {
        ...output,
        stream_type: "STDERR" as const,
        resource: { ...resource, event: "failed" as const },
      },
      { ...output, stream_type: "SYSTEM" as const, resource },
      ...wrong.map((one) => ({ ...output, resource: one as never })),
    ].map((chunk, index) => ({ ...chunk, seq: index + 1 }));
    await runner.call("appendLogs", { params: job, body: { chunks } });
    await runner.call("appendLogs", { params: job, body: { ...output, resource } });
    const { logs } = await client.call("getJobLogs", { params: job, query: {} });
    const failed = { ...resource, event: "failed" };
    expect(logs.map((one) => one.resource)).toEqual([resource, failed, ...Array(6), resource]);
    expect(logs[2]).not.toHaveProperty("resource");
  });

  it("is complete when it has every chunk that the runner counted", async ({ log, client }) => {
    const job = await log.held();
    await log.append(job, { chunks: [chunk(1), chunk(2)] });
    expect(await log.report(job, { status: "SUCCESS", last_seq: 3 })).toMatchObject({
      log_complete: false,
    });
    await log.append(job, chunk(3));
    expect(await client.call("getJob", { params: job })).toMatchObject({ log_complete: true });
    const other = await log.held();
    expect(await log.report(other, { status: "SUCCESS" })).toMatchObject({ log_complete: null });
  });

  it("is read whole, however long it is", async ({ log }) => {
    const job = await log.held();
    for (let from = 1; from <= 1000; from += 200)
      await log.append(job, {
        chunks: Array.from({ length: 200 }, (_, index) => chunk(from + index)),
      });
    expect(await log.texts(job)).toEqual(
      Array.from({ length: 1000 }, (_, index) => `chunk ${index + 1}\n`),
    );
  });

  it.for<[string, unknown, string]>([
    ["an empty body", {}, invalid],
    ["no stream", { log_chunk: "x" }, invalid],
    ["an unknown stream", { log_chunk: "x", stream_type: "STDLOG" }, invalid],
    ["a chunk that is not a string", { log_chunk: 5, stream_type: "STDOUT" }, invalid],
    ["both forms", { log_chunk: "x", stream_type: "STDOUT", chunks: [chunk(1)] }, invalid],
    ["no chunks", { chunks: [] }, invalid],
    ["too many chunks", { chunks: Array.from({ length: 201 }, (_, i) => chunk(i + 1)) }, invalid],
    ["a chunk number of 0", { ...chunk(0) }, invalid],
    ["1 MiB and 1 byte of text", chunk(1, "x".repeat(1024 ** 2 + 1)), tooLarge],
    ["512 Ki two-byte letters and one more", chunk(1, "é".repeat(1024 ** 2 / 2 + 1)), tooLarge],
    [
      "more than 1 MiB in chunks",
      { chunks: [chunk(1, "x".repeat(1024 ** 2)), chunk(2, "y")] },
      tooLarge,
    ],
    ["a body of 7.9 MB", { log_chunk: "x".repeat(7_900_000), stream_type: "STDOUT" }, tooLarge],
  ])("refuses %s and stores nothing of it", async ([, body, refusal], { log, runner }) => {
    const job = await log.held();
    expect(await runner.refusal("appendLogs", { params: job, body: body as never })).toBe(refusal);
    expect(await log.texts(job)).toEqual([]);
  });
});
