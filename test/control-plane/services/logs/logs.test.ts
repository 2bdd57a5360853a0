import { setTimeout as pause } from "node:timers/promises";
import { describe, expect } from "vitest";
import { endpoints } from "../../../../protocol/endpoints.ts";
import type { AppendLogs, ReportStatus } from "../../../../protocol/executions.ts";
import { ask } from "../../../helpers/plane.ts";
import { planeForFile } from "../../../helpers/plane-for-file.ts";

const { appendLogs, cancelJob, claimJob, createJob, getJob, getJobLogs, readLogs, reportStatus } =
  endpoints;

type Params = { readonly id: string };

const { plane, it: base } = planeForFile();
const it = base
  // Queues a job and claims it; returns its path parameters.
  .extend("held", ({ client, runner, spec }) => async (): Promise<Params> => {
    const body = { job_type: "PLAN", configuration_id: spec } as const;
    const { id } = await client.get(createJob, { body });
    await runner.get(claimJob, {});
    return { id };
  })
  .extend(
    "append",
    ({ runner }) =>
      (params: Params, body: AppendLogs) =>
        runner.get(appendLogs, { params, body }),
  )
  .extend(
    "report",
    ({ runner }) =>
      (params: Params, body: ReportStatus) =>
        runner.get(reportStatus, { params, body }),
  )
  .extend(
    "read",
    ({ client }) =>
      (params: Params, query = {}) =>
        client.get(getJobLogs, { params, query }),
  )
  .extend(
    "texts",
    ({ read }) =>
      async (params: Params) =>
        (await read(params)).logs.map(({ log_chunk }) => log_chunk),
  );

const chunk = (seq: number, log_chunk = `chunk ${seq}\n`) =>
  ({ log_chunk, stream_type: "STDOUT", seq }) as const;

describe("the log of a job", () => {
  it("keeps unnumbered posts in their order, and the first post starts the job", async ({
    held,
    append,
    read,
    texts,
    client,
    runner,
  }) => {
    const job = await held();
    for (const log_chunk of ["one\n", "two", ""])
      await append(job, { log_chunk, stream_type: "STDERR" });
    expect(await texts(job)).toEqual(["one\n", "two", ""]);
    expect((await client.get(getJob, { params: job })).started_at).not.toBeNull();
    const whole = await read(job);
    expect(whole.logs[0]).toMatchObject({ job_id: job.id, stream_type: "STDERR" });
    expect(await runner.get(readLogs, { params: job, query: {} })).toEqual(whole);
  });

  it("is read in pages, after an id", async ({ held, append, read }) => {
    const job = await held();
    await append(job, { chunks: [1, 2, 3, 4, 5].map((seq) => chunk(seq)) });
    const first = await read(job, { limit: 2 });
    expect(first.logs).toHaveLength(2);
    expect(first.next_after).toBe(first.logs[1]!.id);
    const rest = await read(job, { after: first.next_after });
    expect(rest.logs.map(({ log_chunk }) => log_chunk)).toEqual([
      "chunk 3\n",
      "chunk 4\n",
      "chunk 5\n",
    ]);
    expect(rest.next_after).toBeNull();
    expect((await read(job, { after: first.next_after, limit: 3 })).next_after).toBeNull();
  });

  it("stores a numbered chunk once, however often it is sent", async ({ held, append, texts }) => {
    const job = await held();
    const first = await append(job, { chunks: [chunk(1), chunk(2)] });
    expect(await append(job, { chunks: [chunk(1), chunk(2)] })).toEqual(first);
    const second = await append(job, { chunks: [chunk(2), chunk(3)] });
    expect(second.id).toBeGreaterThan(first.id);
    expect(await append(job, chunk(3))).toEqual(second);
    expect(await texts(job)).toEqual(["chunk 1\n", "chunk 2\n", "chunk 3\n"]);
  });

  it("returns 201 for a new chunk and 200 for a stored one", async ({ held, worker }) => {
    const job = await held();
    const post = () =>
      ask(plane, "POST", `/api/jobs/${job.id}/logs`, { headers: worker.headers, json: chunk(1) });
    expect((await post()).status).toBe(201);
    expect((await post()).status).toBe(200);
  });

  it("waits for a chunk whose predecessor is in transit, and refuses a gap", async ({
    held,
    append,
    texts,
    runner,
    worker,
  }) => {
    const job = await held();
    const second = append(job, chunk(2));
    await pause(50);
    await append(job, chunk(1));
    await second;
    expect(await texts(job)).toEqual(["chunk 1\n", "chunk 2\n"]);
    expect(await runner.refusal(appendLogs, { params: job, body: chunk(4) })).toBe("409 log_gap");
    const answer = await ask(plane, "POST", `/api/jobs/${job.id}/logs`, {
      headers: worker.headers,
      json: chunk(9),
    });
    expect(answer.json()).toMatchObject({ code: "log_gap", expected_seq: 3 });
  });

  it("keeps every character, and reports a cancellation in the response", async ({
    held,
    append,
    texts,
    client,
  }) => {
    const job = await held();
    const text = "\u0000 \u001b[31mred\u001b[0m \r\n \ufffd 🚀 \u2028";
    await append(job, { log_chunk: text, stream_type: "STDOUT" });
    expect(await texts(job)).toEqual([text]);
    await client.get(cancelJob, { params: job });
    expect(await append(job, { log_chunk: "late", stream_type: "STDOUT" })).toMatchObject({
      job_status: "CANCELLED",
    });
  });

  it("accepts 1 MiB of text in one post, whatever its length as JSON", async ({
    held,
    append,
    texts,
  }) => {
    const job = await held();
    const text = "\u0001".repeat(1024 ** 2);
    await append(job, chunk(1, text));
    expect(await texts(job)).toEqual([text]);
  });

  it("keeps the step of a SYSTEM chunk, and ignores a malformed one", async ({
    held,
    client,
    runner,
  }) => {
    const job = await held();
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
    await runner.get(appendLogs, { params: job, body: { chunks } });
    await runner.get(appendLogs, { params: job, body: { ...system, step } });
    const { logs } = await client.get(getJobLogs, { params: job, query: {} });
    expect(logs.map((chunk) => chunk.step)).toEqual([step, ...Array(5), step]);
    expect(logs[1]).not.toHaveProperty("step");
  });

  it("is complete when it has every chunk that the runner counted", async ({
    held,
    append,
    report,
    client,
  }) => {
    const job = await held();
    await append(job, { chunks: [chunk(1), chunk(2)] });
    expect(await report(job, { status: "SUCCESS", last_seq: 3 })).toMatchObject({
      log_complete: false,
    });
    await append(job, chunk(3));
    expect(await client.get(getJob, { params: job })).toMatchObject({ log_complete: true });
    const other = await held();
    expect(await report(other, { status: "SUCCESS" })).toMatchObject({ log_complete: null });
  });

  it("is read whole, however long it is", async ({ held, append, texts }) => {
    const job = await held();
    for (let from = 1; from <= 1000; from += 200)
      await append(job, { chunks: Array.from({ length: 200 }, (_, index) => chunk(from + index)) });
    expect(await texts(job)).toEqual(
      Array.from({ length: 1000 }, (_, index) => `chunk ${index + 1}\n`),
    );
  });

  it.for<[string, unknown, string]>([
    ["an empty body", {}, "400 invalid_request"],
    ["no stream", { log_chunk: "x" }, "400 invalid_request"],
    ["an unknown stream", { log_chunk: "x", stream_type: "STDLOG" }, "400 invalid_request"],
    [
      "a chunk that is not a string",
      { log_chunk: 5, stream_type: "STDOUT" },
      "400 invalid_request",
    ],
    [
      "both forms",
      { log_chunk: "x", stream_type: "STDOUT", chunks: [chunk(1)] },
      "400 invalid_request",
    ],
    ["no chunks", { chunks: [] }, "400 invalid_request"],
    [
      "too many chunks",
      { chunks: Array.from({ length: 201 }, (_, i) => chunk(i + 1)) },
      "400 invalid_request",
    ],
    ["a chunk number of 0", { ...chunk(0) }, "400 invalid_request"],
    ["1 MiB and 1 byte of text", chunk(1, "x".repeat(1024 ** 2 + 1)), "413 too_large"],
    [
      "512 Ki two-byte letters and one more",
      chunk(1, "é".repeat(1024 ** 2 / 2 + 1)),
      "413 too_large",
    ],
    [
      "more than 1 MiB in chunks",
      { chunks: [chunk(1, "x".repeat(1024 ** 2)), chunk(2, "y")] },
      "413 too_large",
    ],
    [
      "a body of 7.9 MB",
      { log_chunk: "x".repeat(7_900_000), stream_type: "STDOUT" },
      "413 too_large",
    ],
  ])("refuses %s and stores nothing of it", async ([, body, refusal], { held, texts, runner }) => {
    const job = await held();
    expect(await runner.refusal(appendLogs, { params: job, body: body as never })).toBe(refusal);
    expect(await texts(job)).toEqual([]);
  });
});
