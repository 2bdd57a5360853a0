/** A failure of a configuration that has not been made good, in words. */
import type { Configuration } from "../../protocol/configurations.ts";
import { statusWords } from "../../protocol/words.ts";
import { styled } from "../terminal/output.ts";
import { ago } from "../terminal/times.ts";

type Standing = Pick<Configuration, "status" | "deployed" | "failed_job">;

/** Returns the status, red if a failure has not been made good. */
export function styledStanding(standing: Standing): string {
  const words = statusWords(standing);
  const isCalm = words === standing.status && words !== "FAILED";
  return isCalm ? words : styled("red", words);
}

/** Returns `last DEPLOY FAILED 5m ago, job 01890a5d-…`. */
export const failedText = ({
  id,
  job_type,
  status,
  ended_at,
}: NonNullable<Standing["failed_job"]>) => `last ${job_type} ${status} ${ago(ended_at)}, job ${id}`;
