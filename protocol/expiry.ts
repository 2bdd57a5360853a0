/** When a configuration is destroyed by itself. */
import { Type } from "typebox";
import { Drift } from "./drift.ts";
import { about, Nullable, Timestamp } from "./fields.ts";

/** What a configuration shows of its checks for drift, and of its end. */
export const watchedFields = {
  drift: Type.Optional(Drift),
  expires_at: Type.Optional(
    about(Nullable(Timestamp), "When a DESTROY is queued, if something is deployed; null: never."),
  ),
};

export const writtenExpiry = Type.Optional(
  about(
    Nullable(Timestamp),
    "When to destroy what is deployed: a DESTROY is queued then or, under an approval rule, a PLAN with `destroy` and its DEPLOY, which waits for the approvals. `schedule.expires` is told a day before. Null: never.",
  ),
);
