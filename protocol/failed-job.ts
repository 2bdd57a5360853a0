/** A job whose failure is unresolved. */
import { Type, type Static } from "typebox";
import { about, ErrorMessage, Nullable, OneOf, Timestamp, Uuid } from "./fields.ts";
import { jobTypes } from "./limits.ts";

export const FailedJob = Type.Object({
  id: Uuid,
  job_type: OneOf(jobTypes),
  status: about(OneOf(["FAILED", "CANCELLED"]), "`CANCELLED`: after it changed something."),
  error_message: Nullable(ErrorMessage),
  started_at: Type.Optional(
    about(Nullable(Timestamp), "Null if no runner started it: it changed nothing."),
  ),
  ended_at: Timestamp,
});
export type FailedJob = Static<typeof FailedJob>;
