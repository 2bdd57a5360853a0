/** Whether the infrastructure of a configuration still is what was deployed. */
import { Type, type Static } from "typebox";
import { about, Nullable, OneOf, Timestamp, Uuid } from "./fields.ts";

export const driftStatuses = ["unchecked", "in_sync", "drifted", "failed"] as const;
export const DriftStatus = about(
  OneOf(driftStatuses),
  "`unchecked`: nothing is deployed, or nothing was checked yet. `failed`: the last check failed, or its plan could not be read.",
);
export type DriftStatus = Static<typeof DriftStatus>;

/** The result of the last drift check, or of the DEPLOY since. */
export const Drift = Type.Object({
  status: DriftStatus,
  since: about(Nullable(Timestamp), "Since when the status is this one; null if unchecked."),
  checked_at: Nullable(Timestamp),
  job_id: about(
    Nullable(Uuid),
    "The PLAN that checked it, which a DEPLOY accepts; or the DEPLOY since.",
  ),
  resources: about(
    Type.Integer({ minimum: 0 }),
    "How many resources differ from what was deployed.",
  ),
});
export type Drift = Static<typeof Drift>;
