import { describe, expect, it } from "vitest";
import {
  cancel,
  endUnstarted,
  fence,
  hasDebug,
  isDestruction,
  lose,
  lostMessage,
  outliveRestore,
  reject,
  releaseCancelled,
  reportEnd,
  reportProcessing,
  start,
  unansweredCancelMilliseconds,
  type JobState,
} from "../../../control-plane/domain/job.ts";
import { RefusalError } from "../../../control-plane/domain/refusal.ts";

const now = 1_000_000;
const queued: JobState = {
  status: "QUEUED",
  worker_id: null,
  claim_key: null,
  claimed_at: null,
  started_at: null,
  cancelled_at: null,
  cancelled_by: null,
  ended_at: null,
  released_at: null,
  omitted_at: null,
  error_message: null,
  failure: null,
  execution_metadata: null,
  failed_checks: null,
  last_seq: null,
  presumed_lost_at: null,
  outcome_unknown: 0,
};
const claimed: JobState = { ...queued, status: "PROCESSING", worker_id: "w", claimed_at: 1 };
const started: JobState = { ...claimed, started_at: 2 };
const ada = "ada@example.com";
const byAda = { status: "CANCELLED", cancelled_by: ada } as const;
const cancelling: JobState = { ...started, ...byAda, cancelled_at: 3, ended_at: 3 };
const released = { released_at: 4, ended_at: 4 };
const succeeded: JobState = { ...started, status: "SUCCESS", ...released };
const cancelledInQueue: JobState = {
  ...queued,
  ...byAda,
  cancelled_at: 3,
  ended_at: 3,
  released_at: 3,
};
const lost: JobState = {
  ...started,
  status: "FAILED",
  error_message: lostMessage,
  presumed_lost_at: 4,
  outcome_unknown: 1,
  ...released,
};
const presumed = { released_at: 4, presumed_lost_at: 4, outcome_unknown: 1 } as const;

const success = {
  status: "SUCCESS",
  error_message: null,
  failure: null,
  execution_metadata: null,
  failed_checks: null,
  last_seq: null,
  outcome_unknown: 0,
} as const;
const sameMessage = { ...success, status: "FAILED", error_message: lostMessage } as const;
const failure = { ...success, status: "FAILED", error_message: "boom" } as const;

const change = {
  processing: (job: JobState) => reportProcessing(job, now),
  log: (job: JobState) => start(job, now),
  success: (job: JobState) => reportEnd(job, success, now),
  failure: (job: JobState) => reportEnd(job, failure, now),
  "the same message": (job: JobState) => reportEnd(job, sameMessage, now),
  "an unknown outcome": (job: JobState) =>
    reportEnd(job, { ...sameMessage, outcome_unknown: 1 }, now),
  "the end of the cancel": (job: JobState) =>
    reportEnd(job, { ...success, status: "CANCELLED" }, now),
  "more outputs": (job: JobState) => reportEnd(job, { ...success, execution_metadata: "{}" }, now),
  cancel: (job: JobState) => cancel(job, ada, now),
  lose: (job: JobState) => lose(job, now),
  "no worker can run it": (job: JobState) => endUnstarted(job, "too large", now),
  reject: (job: JobState) => reject(job, "not today", now),
  restore: (job: JobState) => outliveRestore(job, "Monday", now),
} as const;

type Expected = Partial<JobState> | "refused" | "unchanged";

describe("a job", () => {
  it.each<[from: string, job: JobState, event: keyof typeof change, to: Expected]>([
    ["claimed", claimed, "processing", { started_at: now, status: "PROCESSING" }],
    ["started", started, "processing", "unchanged"],
    ["succeeded", succeeded, "processing", "refused"],
    ["cancelled before its start", cancelledInQueue, "processing", "refused"],
    ["cancelled and running", cancelling, "processing", "refused"],
    ["claimed", claimed, "log", { started_at: now, status: "PROCESSING" }],
    ["cancelled and running", cancelling, "log", "unchanged"],
    ["started", started, "success", { status: "SUCCESS", ended_at: now, released_at: now }],
    [
      "claimed",
      claimed,
      "success",
      { status: "SUCCESS", started_at: now, ended_at: now, released_at: now },
    ],
    [
      "started",
      started,
      "failure",
      { status: "FAILED", error_message: "boom", ended_at: now, released_at: now },
    ],
    // A report is recorded even after a cancel or a presumed loss.
    [
      "cancelled and running",
      cancelling,
      "success",
      { status: "SUCCESS", ended_at: now, released_at: now },
    ],
    [
      "lost",
      lost,
      "success",
      {
        status: "SUCCESS",
        error_message: null,
        presumed_lost_at: null,
        outcome_unknown: 0,
        ended_at: now,
      },
    ],
    // The cancel decided for the time being; the report says when it ended.
    [
      "cancelled and running",
      cancelling,
      "the end of the cancel",
      { status: "CANCELLED", ended_at: now, released_at: now },
    ],
    [
      "cancelled and lost",
      { ...cancelling, ...presumed, ended_at: 4 },
      "the end of the cancel",
      { presumed_lost_at: null, outcome_unknown: 0, ended_at: now },
    ],
    ["succeeded", succeeded, "more outputs", { execution_metadata: "{}" }],
    // Also if the report has the same message as the presumed loss: fields decide, not the message.
    [
      "lost",
      lost,
      "the same message",
      { presumed_lost_at: null, outcome_unknown: 0, ended_at: now },
    ],
    [
      "lost",
      lost,
      "an unknown outcome",
      { presumed_lost_at: null, outcome_unknown: 1, ended_at: now },
    ],
    ["succeeded", succeeded, "success", "unchanged"],
    // Each field makes a report another one.
    ["succeeded", succeeded, "failure", { status: "FAILED", error_message: "boom", ended_at: now }],
    [
      "cancelled",
      { ...succeeded, status: "CANCELLED" },
      "success",
      { status: "SUCCESS", ended_at: now },
    ],
    ["in doubt", { ...succeeded, outcome_unknown: 1 }, "success", { outcome_unknown: 0 }],
    ["described", { ...succeeded, error_message: "boom" }, "success", { error_message: null }],
    ["explained", { ...succeeded, failure: "{}" }, "success", { failure: null }],
    ["logged", { ...succeeded, last_seq: 7 }, "success", { last_seq: null }],
    ["queued", queued, "cancel", { ...byAda, cancelled_at: now, ended_at: now, released_at: now }],
    [
      "claimed",
      claimed,
      "cancel",
      { ...byAda, cancelled_at: now, ended_at: now, released_at: now },
    ],
    // A started job occupies its configuration until its runner reports its end.
    ["started", started, "cancel", { ...byAda, cancelled_at: now, ended_at: now }],
    ["succeeded", succeeded, "cancel", "refused"],
    ["cancelled and running", cancelling, "cancel", "refused"],
    ["queued", queued, "lose", "unchanged"],
    ["claimed", claimed, "lose", { status: "QUEUED", worker_id: null, claimed_at: null }],
    [
      "started",
      started,
      "lose",
      {
        status: "FAILED",
        error_message: "runner lost, outcome unknown",
        ended_at: now,
        released_at: now,
        presumed_lost_at: now,
        outcome_unknown: 1,
      },
    ],
    [
      "cancelled and running",
      cancelling,
      "lose",
      {
        status: "CANCELLED",
        ended_at: now,
        released_at: now,
        presumed_lost_at: now,
        outcome_unknown: 1,
      },
    ],
    [
      "cancelled and not started",
      { ...cancelling, started_at: null },
      "lose",
      { ...presumed, ended_at: now, released_at: now, presumed_lost_at: now },
    ],
    ["succeeded", succeeded, "lose", "unchanged"],
    ["lost", lost, "lose", "unchanged"],
    [
      "claimed",
      claimed,
      "no worker can run it",
      { status: "FAILED", error_message: "too large", ended_at: now, released_at: now },
    ],
    [
      "queued",
      queued,
      "reject",
      {
        status: "CANCELLED",
        error_message: "not today",
        cancelled_at: now,
        ended_at: now,
        released_at: now,
      },
    ],
    ["succeeded", succeeded, "reject", "refused"],
    [
      "started",
      started,
      "restore",
      {
        status: "FAILED",
        error_message: "outcome unknown: the server was restored from a backup of Monday",
        outcome_unknown: 1,
        ended_at: now,
        released_at: now,
      },
    ],
    ["succeeded", succeeded, "restore", { outcome_unknown: 1 }],
    ["cancelled and running", cancelling, "restore", { outcome_unknown: 1, released_at: now }],
  ])("that is $0 changes as listed on: $2", (_from, job, event, to) => {
    if (to === "refused")
      expect(() => change[event](job)).toThrow(
        expect.objectContaining({
          code: "job_ended",
          message: expect.stringContaining(job.status),
        }),
      );
    else if (to === "unchanged") expect(change[event](job)).toBe(job);
    else expect(change[event](job)).toEqual({ ...job, ...to });
  });

  it("is released with its outcome unknown if its cancellation is not acknowledged within 15 minutes", () => {
    const due = 3 + unansweredCancelMilliseconds;
    expect(releaseCancelled(cancelling, due - 1)).toBe(cancelling);
    expect(releaseCancelled(cancelling, due)).toMatchObject({
      released_at: due,
      outcome_unknown: 1,
    });
    for (const job of [
      started,
      cancelledInQueue,
      { ...cancelling, cancelled_at: null },
      { ...cancelling, status: "SUCCESS" } as const,
    ])
      expect(releaseCancelled(job, due)).toBe(job);
  });

  it.each([
    ["DESTROY", 0, true],
    ["DEPLOY", 1, true],
    ["DEPLOY", 0, false],
    ["PLAN", 1, false],
  ] as const)(
    "that is a %s and has destroys %i leaves nothing deployed: %s",
    (job_type, destroys, expected) => {
      expect(isDestruction({ job_type, destroys })).toBe(expected);
    },
  );

  it("has a debug log if its features name it", () => {
    expect(hasDebug({ features: '["oidc","debug"]' })).toBe(true);
    expect(hasDebug({ features: '["oidc"]' })).toBe(false);
  });

  it("accepts reports only from its holder, and of the current attempt if the report names one", () => {
    const job = { worker_id: "w", attempt: 2 };
    expect(() => fence(job, "w", undefined)).not.toThrow();
    expect(() => fence(job, "w", 2)).not.toThrow();
    expect(() => fence(job, "w", 1)).toThrow(RefusalError);
    expect(() => fence(job, "other", 2)).toThrow(RefusalError);
    expect(() => fence({ worker_id: null, attempt: 1 }, "w", undefined)).toThrow(RefusalError);
  });
});
