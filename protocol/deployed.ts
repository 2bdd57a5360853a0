/** What is deployed of a configuration, and where its state is. */
import { Type, type Static } from "typebox";
import { about, Nullable, OneOf, Timestamp, Uuid } from "./fields.ts";
import { failedChecks } from "./plan-counts.ts";

/** `managed`: the control plane keeps the state; `own`: the declared backend does. */
export const Backend = OneOf(["managed", "own"]);

/** Where the state of a configuration is. */
export const StateBackend = Type.Optional(
  about(
    Nullable(Backend),
    "Where the state is: as chosen by `backend`, else where the last deployment or push left it. Null: the next deployment decides.",
  ),
);

/** What is deployed of a configuration, whatever became of its last job. */
export const Deployed = Type.Object({
  serial: about(
    Nullable(Type.Integer()),
    "The serial of the managed state; null if the state is kept elsewhere.",
  ),
  resources: about(
    Nullable(Type.Integer()),
    "How many resources that state records: each instance of a `count` or `for_each` as one, without data sources. Null if the server cannot read it, because OpenTofu has encrypted it.",
  ),
  at: about(Timestamp, "When that state was written, or when the last DEPLOY succeeded."),
  job_id: about(Nullable(Uuid), "The job that did it; null after a rollback or a push by a user."),
  failed_checks: failedChecks(
    "How many checks failed after the last DEPLOY; null if its runner did not tell it.",
  ),
  by: about(
    Nullable(Type.String()),
    "The user who queued the job, rolled back or pushed, if this is known.",
  ),
});
export type Deployed = Static<typeof Deployed>;
