/** What exists after a job of `windlass up` failed or was cancelled, and what to do next. */
import type { Job } from "../../protocol/jobs.ts";
import { missingVariable } from "../../protocol/words.ts";
import { deployedInShort } from "../configurations/deployed.ts";
import type { Run } from "../run.ts";
import { shellWord } from "../terminal/shell-word.ts";

/** Returns it in sentences. */
export async function whatIsLeft({ api }: Run, job: Job): Promise<string> {
  const variable = missingVariable(job.error_message);
  const next =
    variable === undefined
      ? job.status === "FAILED"
        ? "Once the cause is removed, run windlass up again."
        : "To go on, run windlass up again."
      : `To set the variable, add to the command: --var ${shellWord(`${variable}=VALUE`)}`;
  if (job.job_type === "PLAN" || job.started_at === null) return `Nothing was changed. ${next}`;
  const { configuration_id: name } = job;
  const found =
    name === null ? undefined : await api.call("getConfiguration", { params: { name } });
  const kept = found?.deployed
    ? `Deployed now: ${deployedInShort(found.deployed)}. What was changed until then stays.`
    : "Nothing is deployed.";
  return `${kept} ${next}\nIts errors and its plan: windlass jobs show ${job.id}`;
}
