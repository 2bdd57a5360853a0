/** Why a job failed or was stopped, for programs; `error_message` says it for people. */
import { Type, type Static } from "typebox";
import { about } from "./fields.ts";
import { failureVariablesLimit } from "./limits.ts";

/** The kinds that exist now; a later runner may report others. */
export type FailureKind =
  | "command"
  | "missing_variables"
  | "unsuitable_variables"
  | "values_withheld"
  | "merge_conflict"
  | "plan_overtaken"
  | "timed_out"
  | "stopped";

export const JobFailure = Type.Object({
  kind: about(
    Type.String({ pattern: "^[a-z_]{1,64}$" }),
    "`command`: a command of terraform failed, for one of these reasons if it is known: `missing_variables` (`variables` have no value), `unsuitable_variables` (the values of `variables` have a wrong type), `values_withheld` (`variables` have no value because their values are withheld from plans of pull requests), `plan_overtaken` (the state has changed since the plan; nothing was applied). `merge_conflict`: the head of the pull request cannot be merged into its base. `timed_out`: it ran longer than `timeout_seconds`. `stopped`: it was cancelled, or its runner was stopped. Accept unknown kinds: `error_message` describes them too.",
  ),
  summary: Type.Optional(
    about(
      Type.String({ maxLength: 1000 }),
      "`error_message` without terraform's errors, which the log shows; absent if it has none.",
    ),
  ),
  variables: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: failureVariablesLimit }),
  ),
});
export type JobFailure = Static<typeof JobFailure>;
