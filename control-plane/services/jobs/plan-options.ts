/** How a PLAN differs from an ordinary one; a DEPLOY has the options of the plan that it applies. */
import type { CreateJob } from "../../../protocol/jobs.ts";
import {
  planOptionsFault,
  planOptionsOf,
  type PlanOptions,
} from "../../../protocol/plan-options.ts";
import { invalid } from "../../domain/refusal.ts";
import type { StoredSnapshot } from "../../domain/snapshot-values.ts";
import type { Queries } from "../../store/db.ts";
import { findSnapshot } from "../../store/jobs/jobs.ts";
import { shortOf } from "../definitions.ts";

export async function requestedOptions(
  tx: Queries,
  input: CreateJob,
): Promise<PlanOptions | undefined> {
  const options = planOptionsOf(input);
  if (options === undefined)
    return input.plan_job_id ? findPlanOptions(tx, input.plan_job_id) : undefined;
  if (input.job_type !== "PLAN") {
    const [field] = Object.entries(options).find(([, value]) => isSet(value)) ?? [""];
    throw invalid(`body.${field}`, "goes with a PLAN only");
  }
  const fault = planOptionsFault(options);
  if (fault) throw invalid(`body.${fault[0]}`, fault[1]);
  return options;
}

const isSet = (value: boolean | readonly string[]): boolean =>
  typeof value === "boolean" ? value : value.length > 0;

export async function findPlanOptions(tx: Queries, id: string): Promise<PlanOptions | undefined> {
  const stored = await tx.first(findSnapshot, { id });
  return stored && shortOf<StoredSnapshot>(stored.config_snapshot).plan_options;
}
