/** What exists after a job failed or was cancelled, and what to do next. */
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import type { StateLock } from "../../protocol/state-versions.ts";
import { failedBy } from "../../protocol/words.ts";
import { ifReadable } from "../api/failures.ts";
import { teamWords } from "../api/team.ts";
import { deployedInShort } from "../configurations/deployed.ts";
import type { Run } from "../run.ts";
import { findLostLock, lockRemedy, lockText } from "../states/lock.ts";
import { shellWord } from "../../common/shell-word.ts";

/** How the user continues, as ends of sentences. */
export interface NextStep {
  /** Begins anew, such as `run windlass up again.` */
  readonly again: string;
  /** Gives a value to variables; their options follow. */
  readonly set: string;
  /** As `set`, with a file of variables, whose option follows. */
  readonly setByFile?: string;
  /** How to run the job with other files, as a sentence, if it does not take them by itself. */
  readonly files?: string;
}

/** Says what the job has left and how to continue. */
export async function nextSteps(run: Run, job: Job, step = retryOf(run, job)): Promise<string> {
  return `${await resourcesLeft(run, job, step)}${await workerLeft(run, job)}`;
}

async function resourcesLeft(run: Run, job: Job, step: NextStep): Promise<string> {
  const { api } = run;
  const { configuration_id: name, id } = job;
  const lock = name === null ? null : await findLostLock(api, name);
  const found =
    name === null ? undefined : await api.call("getConfiguration", { params: { name } });
  const first = lock ? `\n${unlockFirst(run, job, lock, found)}\n` : " ";
  const next = `${first}${nextStep(job, step, lock !== null, run)}`;
  if (
    job.job_type === "PLAN" ||
    job.started_at === null ||
    job.apply_began === false ||
    failedBy(job, "plan_overtaken")
  )
    return `No resource was changed.${next}`;
  if (lock?.state_unsaved && lock.job_id === id)
    return `It has changed resources, and its state could not be saved.${next}`;
  const show = `windlass jobs show ${id}${teamWords(api.team)}`;
  return `${changesText(job, found)}${next}\nWhat became of each resource: ${show}`;
}

/** Creating a teardown drains its worker, which its end does not undo. Returns a line about it. */
export async function workerLeft({ api }: Pick<Run, "api">, job: Job): Promise<string> {
  const { job_type, assigned_worker_id: id } = job;
  if (job_type !== "DESTROY_WORKER" || id === null) return "";
  const listed = await ifReadable(api.call("listWorkers"));
  const worker = listed?.workers.find((one) => one.id === id);
  // OFFLINE says nothing about the drain.
  if (worker?.status !== "DRAINING" && worker?.status !== "OFFLINE") return "";
  return `\nThe worker "${worker.name}" stays drained: it gets no new jobs. To end that: windlass workers undrain ${shellWord(worker.name)}${teamWords(api.team)}`;
}

/** What the job changed, as far as this is known, in sentences. */
function changesText({ outcome_unknown }: Job, found: Configuration | undefined): string {
  const deployed = found?.deployed && deployedInShort(found.deployed);
  if (outcome_unknown)
    return deployed
      ? `What it changed is not known. The last known deployment, which may be out of date: ${deployed}.`
      : "What it changed is not known.";
  const kept = "What was changed until then stays.";
  if (deployed) return `Deployed now: ${deployed}. ${kept}`;
  return found ? "Nothing is deployed." : kept;
}

/** Says what to do before any other job can run. */
function unlockFirst(
  { api }: Run,
  job: Job,
  lock: StateLock,
  configuration: Configuration | undefined,
): string {
  const isOwn = configuration?.state_backend === "own";
  return `The state is ${lockText(lock)}. ${lockRemedy(api, nameIn(job), lock, isOwn)}`;
}

const isSensitive = ({ config_snapshot }: Job, name: string): boolean =>
  config_snapshot?.variables?.[name]?.sensitive === true;

function nextStep(
  job: Job,
  { again, set, setByFile = set, files }: NextStep,
  isLocked: boolean,
  { api }: Run,
): string {
  const { status, outcome_unknown } = job;
  const named = job.failure?.variables ?? [];
  const kept = (failedBy(job, "unsuitable_variables") ? named : [])
    .filter((name) => Object.hasOwn(job.config_snapshot?.variables ?? {}, name))
    .map(
      (name) =>
        `The value of "${name}" is kept in the configuration. To change it, ${set} ${isSensitive(job, name) ? `--sensitive ${shellWord(name)} (JSON: --sensitive-json), which asks for it` : `--var ${shellWord(`${name}=VALUE`)}, for a list, a map or an object as JSON`}; to remove it, run: windlass configurations update ${shellWord(nameIn(job))} --unset ${name}${teamWords(api.team)}`,
    );
  const variables = failedBy(job, "missing_variables") ? named : [];
  if (variables.length === 0) {
    if (isLocked) return `After that, ${again}`;
    if (failedBy(job, "timed_out") && !outcome_unknown)
      return `To give it more time, ${set} --timeout SECONDS\nTo try again without that, ${again}`;
    if (outcome_unknown) return `Once its terraform has ended, ${again}`;
    if (status !== "FAILED" || isOvertaken(job)) return `To go on, ${again}`;
    const hints = [...kept, ...(files === undefined ? [] : [files])];
    return [`Once the cause is removed, ${again}`, ...hints].join("\n");
  }
  const options = variables.map((name) => `--var ${shellWord(`${name}=VALUE`)}`).join(" ");
  const what = variables.length === 1 ? "variable" : "variables";
  const secrets = variables.map((name) => `--sensitive ${shellWord(name)}`).join(" or ");
  const secret = `For a secret, pass ${secrets} instead: it asks for the value.`;
  const file = `If a file has the values, ${setByFile} --var-file FILE`;
  const json = "For a list, a map or an object, VALUE is JSON.";
  return `To set the ${what}, ${set} ${options}\n${json}\n${secret}\n${file}`;
}

/** Whether the job failed because of another change, which needs no repair. */
const isOvertaken = (job: Job): boolean =>
  failedBy(job, "plan_overtaken") || (job.plan_job_id !== null && job.started_at === null);

export function retryOf({ api }: Run, job: Job): NextStep {
  const team = teamWords(api.team);
  const update = `windlass configurations update ${shellWord(nameIn(job))}`;
  const step = {
    again: `run: windlass jobs retry ${job.id} --wait${team}`,
    set: `run: ${update}${team}`,
  };
  if (job.config_snapshot?.source.type !== "archive") return step;
  const files = job.own_source
    ? `To plan changed files instead, run: windlass up${team}`
    : `To change its files first, run: ${update} --dir DIRECTORY${team}`;
  return { ...step, setByFile: `run: ${update}${team} --dir DIRECTORY`, files };
}

/** What a command takes for the configuration of a job. */
const nameIn = ({ config_snapshot, configuration_id }: Job): string =>
  config_snapshot?.name ?? configuration_id ?? "NAME";
