import { describe, expect, test } from "vitest";
import { claimFault } from "../../../agent/job/claim-fault.ts";
import { ClaimedSnapshot } from "../../../protocol/configurations.ts";
import { ClaimedJob } from "../../../protocol/executions.ts";

const faultOf = (job: object, snapshot: object | null = {}, cloud_identity?: unknown) =>
  claimFault({
    job: { id: "job", job_type: "PLAN", config_snapshot: snapshot, ...job },
    cloud_identity,
  } as ClaimedJob);

describe("claimFault", () => {
  test("accepts a claim with only the published fields, and null where there may be none", () => {
    expect(faultOf({})).toBeUndefined();
    const none = { plan_job_id: null, timeout_seconds: null, former_secrets: null };
    const snapshot = { timeout_seconds: null, engine_version: null, source: null };
    expect(faultOf(none, snapshot, null)).toBeUndefined();
  });

  test.each([
    [{ timeout_seconds: 0 }, {}, "job.timeout_seconds must be a whole number from 1"],
    [{}, { timeout_seconds: "60" }, "job.config_snapshot.timeout_seconds must be a whole number"],
    [{}, null, "job.config_snapshot must be an object"],
    [{}, { variables: null }, "job.config_snapshot.variables must be an object"],
    [{}, { variables: { a: null } }, "job.config_snapshot.variables.a must be an object"],
    [{}, { source: { type: "git", url: 7 } }, "job.config_snapshot.source.url must be text"],
    [{ job_type: "APPLY" }, {}, "job.job_type must be one of PLAN, "],
    [{ plan_job_id: "../x" }, {}, "job.plan_job_id must be an id"],
  ])("names the field of %j and %j", (job, snapshot, message) => {
    expect(faultOf(job, snapshot)).toContain(message);
  });

  test("names the field of a cloud identity without a provider", () => {
    expect(faultOf({}, {}, { provider: null })).toBe("cloud_identity.provider must be text");
  });

  const others = ["zone_id", "assigned_worker_id", "project_name", "parallelism", "source"];
  const unused = new Set(["id", ...others]);
  const checked = (properties: object) =>
    Object.keys(properties).filter((name) => !unused.has(name));

  test.each(checked(ClaimedJob.properties.job.properties))("knows the type of job.%s", (name) => {
    expect(faultOf({ [name]: [7] })).toContain(`job.${name} `);
  });

  test.each(checked(ClaimedSnapshot.properties))("knows the type of the snapshot's %s", (name) => {
    expect(faultOf({}, { [name]: [7] })).toContain(`job.config_snapshot.${name} `);
  });
});
