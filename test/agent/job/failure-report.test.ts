import { expect, test } from "vitest";
import { StepFailedError } from "../../../agent/job/context.ts";
import { failureReport } from "../../../agent/job/failure-report.ts";
import { rescuedState, workspaceOf } from "../../../agent/job/workspace.ts";
import type { ClaimedJob } from "../../../protocol/executions.ts";

test("failureReport names files relative to the source, and a kept state in full", () => {
  const workDir = "/var/lib/windlass";
  const claim = { job: { id: "id", job_type: "PLAN", config_snapshot: {} } } as ClaimedJob;
  const settings = {
    workDir,
    workerToken: "wlw_token",
    sealKey: "key",
    gitAccess: [],
    network: {},
  };
  const base = { claim, settings, journal: { entries: [] } } as never;
  const { source, temporary } = workspaceOf(workDir, claim);
  const kept = rescuedState(workDir, "id");
  const summary = `open ${source}/a.tf, ${temporary}/x, ${workDir}/engines/y; kept as ${kept}`;
  const error = new StepFailedError(`plan: ${summary}`, { failure: { kind: "command", summary } });
  const report = failureReport(base, error, "plan", new AbortController().signal);
  const said = `open a.tf, tmp/x, engines/y; kept as ${kept}`;
  expect(report).toMatchObject({ error_message: `plan: ${said}`, failure: { summary: said } });
});
