/** The verbs of `windlass drift`. */
import type { Configuration } from "../../protocol/configurations.ts";
import { driftText, resourcesText } from "../../protocol/words.ts";
import { shellWord } from "../../common/shell-word.ts";
import { teamWords } from "../api/team.ts";
import { inSpaceOf } from "../configurations/find.ts";
import { queue, queued } from "../jobs/create.ts";
import { reportOutcome, watchJob } from "../jobs/watch.ts";
import { driftLines } from "../plans/plan-view.ts";
import type { Run } from "../run.ts";
import { CliError, print } from "../terminal/output.ts";
import { ago, timeAndAge } from "../terminal/times.ts";

export interface Waiting {
  readonly wait?: true | undefined;
}

/** `drift check`. With `--wait`, ends with 2 if something has drifted. */
export async function check(current: Run, name: string, { wait }: Waiting): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const params = { name: configuration.id };
  const job = await run.api.call("checkDrift", { params });
  if (!wait) return queued(run, job, wait);
  run.done(`Checking "${configuration.name}" by job ${job.id}.`);
  await reportOutcome(run, await watchJob(run, job, { log: false }));
  await showDrift(run, await run.api.call("getConfiguration", { params }));
}

export async function list(run: Run): Promise<void> {
  const query = { drift: "drifted" } as const;
  const { configurations } = await run.api.call("listConfigurations", { query });
  run.list(
    configurations,
    {
      NAME: ({ name }) => name,
      DIFFERS: ({ drift }) => drift && resourcesText(drift.resources),
      SINCE: ({ drift }) => drift?.since && ago(drift.since),
      CHECKED: ({ drift }) => drift?.checked_at && ago(drift.checked_at),
      ID: ({ id }) => id,
    },
    "No configuration has drifted, as far as it was checked.",
  );
}

export async function show(current: Run, name: string): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  await showDrift(run, configuration);
}

/** Prints the result of the last check, and what differs. Exit codes as those of `drift check`. */
async function showDrift(run: Run, { name, drift }: Configuration): Promise<void> {
  if (!drift) throw new CliError("The server does not know drift: upgrade it.");
  const { status, since, checked_at, job_id } = drift;
  run.show(drift, {
    configuration: name,
    drift: driftText(drift),
    since: since && timeAndAge(since),
    checked: checked_at && timeAndAge(checked_at),
    job: job_id,
  });
  if (status === "failed") process.exitCode = 1;
  if (status !== "drifted" || job_id === null) return;
  process.exitCode = 2;
  const { plan_summary } = await run.api.call("getPlanSummary", { params: { id: job_id } });
  if (!run.json && plan_summary) for (const line of driftLines(plan_summary)) print(line);
  const named = `${shellWord(name)}${teamWords(run.api.team)}`;
  run.done(`To record this in the state: windlass drift accept ${named}`);
  run.done(`To plan what was deployed: windlass drift put-back ${named}`);
}

/** `drift accept`: a DEPLOY of the plan of the last check. */
export async function accept(current: Run, name: string, options: Waiting): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const { id: configuration_id, drift } = configuration;
  if (drift?.status !== "drifted" || drift.job_id === null)
    throw new CliError(
      `"${configuration.name}" has no drift to accept. To check it: windlass drift check ${shellWord(configuration.name)} --wait${teamWords(run.api.team)}`,
    );
  await queue(run, { job_type: "DEPLOY", configuration_id, plan_job_id: drift.job_id }, options);
}

/** `drift put-back`: a PLAN of what is deployed. */
export async function putBack(current: Run, name: string, options: Waiting): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const { id: configuration_id } = configuration;
  await queue(run, { job_type: "PLAN", configuration_id, deployed: true }, options);
}
