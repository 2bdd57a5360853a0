import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addHeldJob, addTestWorker, ask, startPlane, type Plane } from "../helpers/plane.ts";
import { addJob, addOwner } from "../helpers/rows.ts";

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());

describe("the metrics", () => {
  it("count the queue, held jobs, workers, log bytes and requests, and name nobody", async () => {
    const owner = await addOwner(plane.context.store);
    const worker = await addTestWorker(plane, owner);
    await addJob(plane.context.store, owner, { created_at: Date.now() - 5000, labels: '["busy"]' });
    const job = await addHeldJob(plane, owner, worker);
    const body = JSON.stringify({ log_chunk: "x", stream_type: "STDOUT" });
    const headers = { ...worker.headers, "content-type": "application/json" };
    await ask(plane, "POST", `/api/jobs/${job.id}/logs`, { headers, body });
    await ask(plane, "GET", "/nothing/here");
    const answer = await ask(plane, "GET", "/metrics");
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toMatch(/^text\/plain; version=/);
    const text = answer.body.toString();
    const value = (name: string) =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${name} `))
          ?.slice(name.length),
      );
    expect(value("windlass_jobs_queued")).toBe(1);
    expect(value("windlass_jobs_queued_oldest_age_seconds")).toBeGreaterThanOrEqual(5);
    expect(value('windlass_jobs_held{status="processing"}')).toBe(1);
    expect(value('windlass_workers{status="online"}')).toBe(1);
    expect(value("windlass_log_post_bytes_total")).toBe(body.length);
    const counted = (labels: string) =>
      value(`windlass_http_request_duration_seconds_count{${labels}}`);
    expect(counted('method="POST",route="/api/jobs/:id/logs",status="2xx"')).toBe(1);
    expect(counted('method="GET",route="none",status="4xx"')).toBe(1);
    expect(value("process_resident_memory_bytes")).toBeGreaterThan(0);
    for (const name of [owner.id, worker.id, job.id, "nothing/here"])
      expect(text).not.toContain(name);
  });
});
