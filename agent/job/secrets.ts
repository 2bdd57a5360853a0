/** The secrets that the agent knows a job has, for masking. */
import { redactorOf } from "../logs/redactor.ts";
import type { JobContext } from "./context.ts";
import { texts } from "./outcome.ts";

type Known = Pick<JobContext, "claim" | "settings">;

/** Sensitive variables in every text that they hold, and the tokens. */
export function secretsOf({ claim: { job }, settings }: Known): string[] {
  const variables = Object.values(job.config_snapshot.variables ?? {});
  return [
    ...variables.filter(({ sensitive }) => sensitive).flatMap(({ value }) => texts(value)),
    ...(job.job_token ? [job.job_token] : []),
    settings.workerToken,
  ];
}

/** Takes these secrets out of texts that are not the log. */
export function maskerOf(context: Known): (text: string) => string {
  const { redact } = redactorOf(secretsOf(context));
  return (text) => redact(Buffer.from(text));
}
