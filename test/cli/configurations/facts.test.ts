import { outputsNote, statusWords } from "../../../protocol/words.ts";
import { expect, test } from "vitest";
import { originOf } from "../../../cli/configurations/show.ts";
import { deployedText } from "../../../cli/configurations/deployed.ts";
import { failedText, failureText, hasErrorOfFailure } from "../../../cli/configurations/failed.ts";

test("the origin of a configuration says what an id stands for", () => {
  const id = "bfe01b2f-1627-4f0c-8000-000000000001";
  expect(originOf({ origin: id })).toBe(`a directory with the id ${id} (.windlass/link.json)`);
  expect(originOf({ origin: "github.com/a/b//c" })).toBe("github.com/a/b//c");
  expect(originOf({})).toBeUndefined();
});

test("the status of a configuration says what is deployed and what failed, before and after a PLAN", () => {
  const job = { id: "1", status: "FAILED", error_message: null, ended_at: "" } as const;
  const deployed = { serial: 1, resources: 1, at: "", job_id: null, by: null };
  const apply = { ...job, job_type: "DEPLOY" } as const;
  for (const status of ["FAILED", "DEPLOYED"] as const)
    expect(statusWords({ status, deployed, failed_job: apply })).toBe(
      "DEPLOYED, last deploy failed",
    );
  for (const status of ["FAILED", "NEW", "DESTROYED"] as const)
    expect(statusWords({ status, deployed: null, failed_job: apply })).toBe(
      "NOT DEPLOYED, last deploy failed",
    );
  const destroy = { ...job, job_type: "DESTROY", status: "CANCELLED" } as const;
  expect(statusWords({ status: "FAILED", deployed, failed_job: destroy })).toBe(
    "DEPLOYED, last destroy cancelled",
  );
  const plan = { ...job, job_type: "PLAN" } as const;
  expect(statusWords({ status: "FAILED", deployed, failed_job: plan })).toBe(
    "DEPLOYED, last plan failed",
  );
  expect(statusWords({ status: "DEPLOYING", deployed, failed_job: apply })).toBe("DEPLOYING");
  expect(statusWords({ status: "DEPLOYED", deployed, failed_job: null })).toBe("DEPLOYED");
  expect(failedText({ ...apply, ended_at: new Date().toISOString() })).toMatch(
    /^last DEPLOY FAILED .+, job 1$/,
  );
});

test("what is deployed has its job, or who stored the state", () => {
  const at = new Date().toISOString();
  const deployed = { serial: 7, resources: 3, at, job_id: "1", by: "ada@example.com" };
  expect(deployedText(deployed)).toMatch(
    /^3 resources, \S+ ago by ada@example\.com, serial 7, job 1$/,
  );
  expect(deployedText({ ...deployed, resources: 1, job_id: null })).toMatch(
    /^1 resource, stored \S+ ago by ada@example\.com, serial 7$/,
  );
  expect(deployedText({ ...deployed, serial: null, resources: null, by: null })).toMatch(
    /^\S+ ago, job 1$/,
  );
});

test("a failure has its own error beside that of a later plan", () => {
  const failed_job = {
    id: "1",
    job_type: "DEPLOY",
    status: "FAILED",
    error_message: "apply failed",
    ended_at: new Date().toISOString(),
  } as const;
  const own = { failed_job, error_message: "DEPLOY: apply failed" };
  expect(hasErrorOfFailure(own)).toBe(true);
  expect(failureText(own)).toMatch(/, job 1$/);
  const later = { failed_job, error_message: "init failed" };
  expect(hasErrorOfFailure(later)).toBe(false);
  expect(failureText(later)).toMatch(/^last DEPLOY FAILED .+, job 1: apply failed$/);
  // After a plan that succeeded.
  expect(failureText({ failed_job, error_message: null })).toMatch(/, job 1: apply failed$/);
  expect(failureText({ failed_job: null, error_message: null })).toBeNull();
});

test("outputs are called older than the state only after a failed apply without a stored state", () => {
  const failed_job = {
    id: "1",
    job_type: "DEPLOY",
    status: "FAILED",
    error_message: null,
    ended_at: "",
  } as const;
  const deployed = { serial: 2, resources: 1, at: "", job_id: "1", by: null };
  const failed = { status: "DEPLOYED", deployed, failed_job } as const;
  expect(outputsNote(failed)).toContain("the state may have others");
  expect(outputsNote({ ...failed, deployed: null })).toContain("the state may have others");
  expect(outputsNote({ ...failed, deployed: { ...deployed, job_id: null } })).toBeNull();
  expect(outputsNote({ ...failed, failed_job: { ...failed_job, job_type: "PLAN" } })).toBeNull();
  expect(outputsNote({ ...failed, failed_job: null })).toBeNull();
  expect(outputsNote({ ...failed, failed_job: { ...failed_job, started_at: null } })).toBeNull();
  expect(outputsNote({ ...failed, status: "DEPLOYING" })).toBeNull();
});
