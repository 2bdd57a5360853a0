/** What exists after a job failed or was cancelled, and what to do next. */
import type { Job } from "../../protocol/jobs.ts";
import { missingVariables } from "../../protocol/words.ts";
import { teamWords } from "../api/team.ts";
import { deployedInShort } from "../configurations/deployed.ts";
import type { Run } from "../run.ts";
import { shellWord } from "../terminal/shell-word.ts";

/** How the user continues, as ends of sentences. */
export interface NextStep {
  /** Begins anew, such as `run windlass up again.` */
  readonly again: string;
  /** Gives a value to variables; their options follow. */
  readonly set: string;
}

/** Returns it in sentences. */
export async function whatIsLeft(run: Run, job: Job, step = retryOf(run, job)): Promise<string> {
  const { api } = run;
  const next = nextStep(job, step);
  if (job.job_type === "PLAN" || job.started_at === null) return `Nothing was changed. ${next}`;
  const { configuration_id: name, id } = job;
  const found =
    name === null ? undefined : await api.call("getConfiguration", { params: { name } });
  const kept = "What was changed until then stays.";
  const deployed = found?.deployed
    ? `Deployed now: ${deployedInShort(found.deployed)}. ${kept}`
    : found
      ? "Nothing is deployed."
      : kept;
  const show = `windlass jobs show ${id}${teamWords(api.team)}`;
  return `${deployed} ${next}\nWhat became of each resource: ${show}`;
}

function nextStep({ error_message, status }: Job, { again, set }: NextStep): string {
  const variables = missingVariables(error_message);
  if (variables.length === 0)
    return `${status === "FAILED" ? "Once the cause is removed" : "To go on"}, ${again}`;
  const options = variables.map((name) => `--var ${shellWord(`${name}=VALUE`)}`).join(" ");
  const what = variables.length === 1 ? "variable" : "variables";
  const [first = "NAME"] = variables;
  const secret = `For a secret, pass --sensitive ${shellWord(first)} instead: it asks for the value.`;
  return `To set the ${what}, ${set} ${options}\n${secret}`;
}

/** Queues the job again. */
export function retryOf({ api }: Run, { id, config_snapshot }: Job): NextStep {
  const team = teamWords(api.team);
  return {
    again: `run: windlass jobs retry ${id} --wait${team}`,
    set: `run: windlass configurations update ${shellWord(config_snapshot?.name ?? "NAME")}${team}`,
  };
}
