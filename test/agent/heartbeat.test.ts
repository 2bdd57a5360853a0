import { expect, test } from "vitest";
import { heartbeatLoop } from "../../agent/heartbeat.ts";

test("a job that starts while a heartbeat without jobs is under way is reported at once", async () => {
  const stop = new AbortController();
  const reported: (readonly string[])[] = [];
  let jobs: string[] = [];
  let changed = Promise.withResolvers<void>();
  const loop = heartbeatLoop({
    api: {
      heartbeat: async ({ active_job_ids = [] }) => {
        reported.push(active_job_ids);
        if (active_job_ids.length > 0) stop.abort();
        else {
          jobs = ["started meanwhile"];
          const { resolve } = changed;
          changed = Promise.withResolvers();
          resolve();
        }
        return { cancelled_job_ids: [] };
      },
    },
    log: { warn: expect.unreachable },
    // Longer than the time limit of a test.
    interval: 3600,
    stop: stop.signal,
    body: () => ({ version: "1.0.0", active_job_ids: jobs }),
    jobsChanged: () => changed.promise,
    onCancelled: () => undefined,
    onAccepted: () => undefined,
  });
  await loop;
  expect(reported).toEqual([[], ["started meanwhile"]]);
});

test("continues when the machine refuses what a heartbeat needs", async () => {
  const stop = new AbortController();
  const warnings: unknown[] = [];
  let bodies = 0;
  await heartbeatLoop({
    api: {
      heartbeat: async () => {
        stop.abort();
        return {};
      },
    },
    log: { warn: (facts: unknown) => void warnings.push(facts) },
    interval: 0.01,
    stop: stop.signal,
    body: () => {
      if (++bodies === 1) throw new Error("EMFILE: too many open files");
      return { version: "1.0.0", active_job_ids: [] };
    },
    jobsChanged: () => new Promise(() => undefined),
    onCancelled: () => undefined,
    onAccepted: () => undefined,
  });
  expect(warnings).toEqual([{ error: "EMFILE: too many open files" }]);
});
