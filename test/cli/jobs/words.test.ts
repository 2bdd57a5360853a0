import { expect, test } from "vitest";
import { listedStatus, outcomeText, waitingLine } from "../../../cli/jobs/words.ts";
import type { Job } from "../../../protocol/jobs.ts";

const failed = (error_message: string, log_complete: boolean | null = true): string =>
  outcomeText({
    job_type: "PLAN",
    status: "FAILED",
    config_snapshot: { name: "app" },
    started_at: "2026-01-01T00:00:00Z",
    ended_at: "2026-01-01T00:00:01Z",
    error_message,
    log_complete,
  } as unknown as Job);

test("the outcome of a job does not repeat terraform's errors, which its log has", () => {
  const message = "plan failed (exit code 1): main.tf:3: no such thing";
  expect(failed(message)).toBe('The plan of "app" failed after 1s: plan failed (exit code 1)');
  expect(failed(message, false)).toContain("no such thing");
  expect(failed("runner lost, outcome unknown")).toMatch(/: runner lost, outcome unknown$/);
});

test("a job without a matching worker names the labels that it needs", () => {
  const line = (...labels: string[]): string =>
    waitingLine({ team: undefined }, { labels, config_snapshot: null }, "no_matching_worker");
  expect(line("eu")).toBe("no worker has the label eu: register one with it");
  expect(line("eu", "gpu")).toBe("no worker has all of the labels eu, gpu: register one with them");
  expect(line()).toMatch(/^there is no worker for this job/);
});

test("a job that a runner can take does not say that no runner has a free slot", () => {
  const job = { labels: [], config_snapshot: null };
  expect(waitingLine({ team: undefined }, job, "waiting_for_worker")).toBe(
    "the next runner with a free slot takes it",
  );
});

test("a list says who cancelled a job", () => {
  const status = (cancelled_by: string | null): string =>
    listedStatus({ status: "CANCELLED", cancelled_by } as Job);
  expect(status("ada@example.com")).toBe("CANCELLED by ada@example.com");
  expect(status(null)).toBe("CANCELLED");
});
