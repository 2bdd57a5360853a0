/** What terraform warns of in a job. */
import { Type, type Static } from "typebox";
import { about } from "./fields.ts";
import { jobWarningLimits } from "./limits.ts";

export const JobWarning = Type.Object({
  summary: Type.String({ maxLength: jobWarningLimits.summary }),
  detail: Type.Optional(Type.String({ maxLength: jobWarningLimits.detail })),
  address: Type.Optional(
    about(Type.String({ maxLength: jobWarningLimits.place }), "The resource that it is about."),
  ),
  file: Type.Optional(
    about(Type.String({ maxLength: jobWarningLimits.place }), "The file of the source."),
  ),
  line: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});
export type JobWarning = Static<typeof JobWarning>;
export const JobWarnings = Type.Array(JobWarning, {
  maxItems: jobWarningLimits.count,
  description: "The first 20 warnings of terraform, each once. Absent if there are none.",
});
