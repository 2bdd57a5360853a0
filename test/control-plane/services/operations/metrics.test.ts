import { describe, expect, it, vi } from "vitest";
import { withLists } from "../../../../control-plane/domain/worker.ts";
import { addHeldJob, addTestWorker, ask } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";
import { addJob, addOwner } from "../../../helpers/plane/rows.ts";

const { plane } = planeForFile();

describe("the metrics", () => {
  it("count queued and held jobs, workers, log bytes and requests, without ids of users", async () => {
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
    const text = answer.text;
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
    expect(value('windlass_workers{status="offline"}')).toBe(0);
    expect(value("windlass_log_post_bytes_total")).toBe(body.length);
    const counted = (labels: string) =>
      value(`windlass_http_request_duration_seconds_count{${labels}}`);
    expect(counted('method="POST",route="/api/jobs/:id/logs",status="2xx"')).toBe(1);
    expect(counted('method="GET",route="none",status="4xx"')).toBe(1);
    expect(value("process_resident_memory_bytes")).toBeGreaterThan(0);
    for (const name of [owner.id, worker.id, job.id, "nothing/here"])
      expect(text).not.toContain(name);
  });

  it("count waiting claims, ended jobs by type and status, and the bytes of the database", async () => {
    const owner = await addOwner(plane.context.store);
    const worker = await addTestWorker(plane, owner);
    const job = await addHeldJob(plane, owner, worker);
    const headers = { ...worker.headers, "content-type": "application/json" };
    const report = JSON.stringify({ status: "FAILED", error_message: "no" });
    for (let n = 0; n < 2; n += 1)
      await ask(plane, "PUT", `/api/jobs/${job.id}/status`, { headers, body: report });
    const parking = ask(plane, "POST", "/api/jobs/claim?wait=20", { headers: worker.headers });
    const scrape = async () => (await ask(plane, "GET", "/metrics")).text;
    await eventually(async () => expect(await scrape()).toMatch(/^windlass_claims_parked 1$/m));
    expect(await scrape()).toMatch(/^windlass_jobs_ended_total\{type="plan",status="failed"\} 1$/m);
    const bytes = /^windlass_database_bytes (\d+)$/m.exec(await scrape())?.[1];
    expect(Number(bytes)).toBeGreaterThan(100_000);
    const queued = await addJob(plane.context.store, owner);
    plane.context.wakeups.notify("queue", withLists(queued));
    expect((await parking).status).toBe(200);
    await eventually(async () => expect(await scrape()).toMatch(/^windlass_claims_parked 0$/m));
  });

  it("measure how long jobs wait and run, and terraform's commands by name", async () => {
    const user = await openSampleUser(plane);
    const configuration_id = await user.configure("measured");
    const { id } = await user.queue({ job_type: "DESTROY", configuration_id });
    await user.start();
    for (const name of ["init", "a name of the runner's own"]) {
      await user.step(id, name, "started");
      await user.step(id, name, "ended", 70);
    }
    await user.end(id, "SUCCESS");
    const scrape = async () => (await ask(plane, "GET", "/metrics")).text;
    await eventually(async () => {
      const text = await scrape();
      const of = (series: string) => expect(text).toContain(series);
      of('windlass_job_duration_seconds_count{type="destroy",status="success"} 1\n');
      of('windlass_terraform_phase_duration_seconds_sum{phase="init",status="success"} 70\n');
      of('windlass_terraform_phase_duration_seconds_sum{phase="other",status="success"} 70\n');
      expect(text).toMatch(/^windlass_job_queue_wait_seconds_count [1-9]/m);
      expect(text).not.toContain("a name of the runner");
    });
  });

  it("follow the Prometheus naming rules, and requests cannot add label values", async () => {
    for (let n = 0; n < 50; n += 1) await ask(plane, "GET", `/api/cli/zones/${n}?x=${n}`);
    for (let n = 0; n < 50; n += 1) await ask(plane, "PUT", `/nothing/${n}`);
    const text = (await ask(plane, "GET", "/metrics")).text;
    expect(offences(text)).toEqual([]);
    const series = text.split("\n").filter((line) => line.startsWith("windlass_http_"));
    expect(series.length).toBeLessThan(500);
    expect(new Set(series.map((line) => /route="([^"]*)"/.exec(line)?.[1]))).toContain(
      "/api/cli/zones/:id",
    );
    // The check itself finds four breaches.
    expect(
      offences(
        "# TYPE windlass_seconds_total gauge\n# HELP windlass_jobs x\n# TYPE windlass_jobs counter\n# HELP windlass_time_ms x\n# TYPE windlass_time_ms gauge\n",
      ),
    ).toHaveLength(4);
  });
});

/**
 * Breaches of https://prometheus.io/docs/practices/naming/ by our own metrics, as far as a program
 * can tell.
 */
function offences(text: string): string[] {
  const lines = text.split("\n");
  const found: string[] = [];
  for (const line of lines) {
    const [, name = "", type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (!name.startsWith("windlass_")) continue;
    if (!/^[a-z][a-z0-9_]*$/.test(name)) found.push(`${name}: snake_case`);
    if (!lines.some((other) => other.startsWith(`# HELP ${name} `))) found.push(`${name}: no help`);
    if ((type === "counter") !== name.endsWith("_total")) found.push(`${name}: ${type} and _total`);
    if (type === "histogram" && !/_(seconds|bytes)$/.test(name)) found.push(`${name}: no unit`);
    if (/(_ms|milliseconds|minutes|_kb|_mb|kilobytes|megabytes|percent)(_|$)/.test(name))
      found.push(`${name}: not a base unit`);
  }
  return found;
}

/** Waits for a condition that a busy machine may take long to reach. */
const eventually = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 60_000 });
