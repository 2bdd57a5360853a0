import { statusWords } from "../../../protocol/words.ts";
import { expect, test } from "vitest";
import { originOf } from "../../../cli/configurations/facts.ts";
import { failedText } from "../../../cli/configurations/failed.ts";

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
      "DEPLOYED, last apply failed",
    );
  for (const status of ["FAILED", "NEW", "DESTROYED"] as const)
    expect(statusWords({ status, deployed: null, failed_job: apply })).toBe(
      "NOT DEPLOYED, last apply failed",
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
