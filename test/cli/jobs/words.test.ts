import { expect, test } from "vitest";
import { listedStatus, outcomeText, runTime, waitingLine } from "../../../cli/jobs/words.ts";
import type { Job } from "../../../protocol/jobs.ts";

const failed = (
  error_message: string,
  log_complete: boolean | null = true,
  failure?: Job["failure"],
): string =>
  outcomeText({
    job_type: "PLAN",
    status: "FAILED",
    config_snapshot: { name: "app" },
    started_at: "2026-01-01T00:00:00Z",
    ended_at: "2026-01-01T00:00:01Z",
    error_message,
    failure,
    log_complete,
  } as unknown as Job);

test("the outcome of a job has the first of terraform's errors, in short if the log has it", () => {
  const message = "plan failed (exit code 1): main.tf:3: no such thing";
  const failure = { kind: "command", summary: "plan failed (exit code 1)" };
  expect(failed(message, true, failure)).toBe(
    'The plan of "app" failed after 1s: plan failed (exit code 1): main.tf:3: no such thing.',
  );
  const long = `${message} ${"x".repeat(1000)} end`;
  expect(failed(long, true, failure)).toMatch(/main\.tf:3: no such thing x{200,300}….?$/);
  expect(failed(long, false, failure)).toContain("x end");
  expect(failed(message, false, failure)).toContain("no such thing");
  // A runner that reports no failure, or one of a kind that this client does not know.
  expect(failed(message)).toContain("no such thing");
  expect(failed(message, true, { kind: "invented_later" })).toContain("no such thing");
  expect(failed("Could not read from remote repository.")).toMatch(/[a-z] repository\.$/);
  expect(failed("runner lost, outcome unknown")).toMatch(/: runner lost, outcome unknown\.$/);
});

test("a time below a second has tenths", () => {
  const took = (end: string): string | undefined =>
    runTime({ started_at: "2026-01-01T00:00:00Z", ended_at: `2026-01-01T00:00:${end}Z` } as Job);
  expect(["00.400", "00.960", "12.400"].map(took)).toEqual(["0.4s", "1s", "12s"]);
});

const noName = { config_snapshot: null };

test("a job without a matching worker names the labels that it needs", () => {
  const line = (...labels: string[]): string =>
    waitingLine({ team: undefined }, noName, {
      waiting_reason: "no_matching_worker",
      waiting_details: { labels, workers: [], more_workers: false, job_id: null },
    });
  expect(line("eu")).toBe("no worker has the label eu: give it to a worker that is to run the job");
  expect(line("eu", "gpu")).toBe(
    "no worker has all of the labels eu, gpu: give them to a worker that is to run the job",
  );
  expect(line()).toMatch(/^there is no worker for this job/);
});

test("a teardown that only its own worker could run says that it needs another", () => {
  const line = (...labels: string[]): string =>
    waitingLine({ team: undefined }, noName, {
      waiting_reason: "no_matching_worker",
      waiting_details: {
        labels,
        workers: [{ id: "w", name: "r1" }],
        more_workers: false,
        job_id: null,
      },
    });
  expect(line()).toBe(
    'the runner of "r1" cannot run its own teardown: start the runner of another worker',
  );
  expect(line("eu")).toBe(
    'no worker has the label eu but "r1", which the job tears down: give it to a worker that is to run the job',
  );
});

test("a job that a runner can take does not say that no runner has a free slot", () => {
  const waiting = { waiting_reason: "waiting_for_worker", waiting_details: null };
  expect(waitingLine({ team: undefined }, noName, waiting)).toBe(
    "the next runner with a free slot takes it",
  );
});

test.each<[reason: string, names: string[], text: string]>([
  ["workers_draining", ["a"], 'end the drain of "a", or start another runner'],
  ["no_worker_online", ["a", "b"], 'start the runner of "a" or "b"'],
  ["no_worker_online", ["a", "b", "c", "d"], 'start the runner of "a", "b", "c" or another'],
  ["needs_var_files", ["a"], 'upgrade the agent of "a"'],
  ["worker_in_use", ["a"], 'the worker to tear down, "a", still holds a job'],
  ["assigned_worker_offline", [], "the assigned worker is offline: start its runner"],
])("a job that waits for %s of %j names them", (waiting_reason, names, text) => {
  const workers = names.slice(0, 3).map((name) => ({ id: name, name }));
  const waiting_details = { labels: [], workers, more_workers: names.length > 3, job_id: null };
  expect(waitingLine({ team: undefined }, noName, { waiting_reason, waiting_details })).toContain(
    text,
  );
});

test("a job that waits for another one names it", () => {
  const waiting_details = { labels: [], workers: [], more_workers: false, job_id: "01890a5d" };
  expect(
    waitingLine({ team: undefined }, noName, {
      waiting_reason: "configuration_busy",
      waiting_details,
    }),
  ).toBe("another job of this configuration (01890a5d) is still running");
});

test("a server that does not send the details gets the text without names", () => {
  expect(waitingLine({ team: undefined }, noName, { waiting_reason: "workers_draining" })).toBe(
    "the worker for this job is draining: end the drain, or start another runner",
  );
});

test("a list says who cancelled a job", () => {
  const status = (cancelled_by: string | null): string =>
    listedStatus({ status: "CANCELLED", cancelled_by } as Job);
  expect(status("ada@example.com")).toBe("CANCELLED by ada@example.com");
  expect(status(null)).toBe("CANCELLED");
  const approvals = [
    { email: "eve@example.com", decision: "approve" },
    { email: "ada@example.com", decision: "reject" },
  ];
  expect(listedStatus({ status: "CANCELLED", approvals } as Job)).toBe(
    "CANCELLED, rejected by ada@example.com",
  );
});

test("the list says of a deployment whether its approval is missing or its plan out of date", () => {
  const status = (missing: number, plan_staleness: string | null): string =>
    listedStatus({
      status: "QUEUED",
      approval_need: { missing, plan_staleness },
    } as unknown as Job);
  expect(status(1, null)).toBe("QUEUED, waiting for approval");
  expect(status(0, null)).toBe("QUEUED");
  for (const missing of [0, 1])
    expect(status(missing, "The state has changed")).toBe("QUEUED, plan out of date");
});
