/** Texts about why a job waits, shared by the command line and the console. */
import type { Job } from "./jobs.ts";
import type { WaitingDetails, WaitingReason } from "./waiting.ts";

/** Why a queued job does not run yet and, after the colon, what the user can do. */
export const waitingWords: Readonly<Record<WaitingReason, string>> = {
  // How many slots a runner has free is not known: it may be about to take the job.
  waiting_for_worker: "the next runner with a free slot takes it",
  no_matching_worker:
    "there is no worker for this job: register one, with the labels of the job if it has any",
  needs_backend_config: "waiting for a runner that supports backend_config: upgrade the agent",
  needs_debug: "waiting for a runner that supports debug: upgrade the agent",
  needs_exclude: "waiting for a runner that supports exclude: upgrade the agent",
  needs_identity_aws_web_identity:
    "waiting for a runner that supports identity_aws_web_identity: upgrade the agent",
  needs_identity_azure: "waiting for a runner that supports identity_azure: upgrade the agent",
  needs_identity_gcp: "waiting for a runner that supports identity_gcp: upgrade the agent",
  needs_identity_vault: "waiting for a runner that supports identity_vault: upgrade the agent",
  needs_merge: "waiting for a runner that supports merge: upgrade the agent",
  needs_plan_digest: "waiting for a runner that supports plan_digest: upgrade the agent",
  needs_plan_options: "waiting for a runner that supports plan_options: upgrade the agent",
  needs_source_access: "waiting for a runner that supports source_access: upgrade the agent",
  needs_submodules: "waiting for a runner that supports submodules: upgrade the agent",
  needs_var_files: "waiting for a runner that supports var_files: upgrade the agent",
  no_worker_online: "no worker for this job is online: start the runner of one",
  workers_draining: "the worker for this job is draining: end the drain, or start another runner",
  assigned_worker_offline: "the assigned worker is offline: start its runner",
  assigned_worker_draining: "the assigned worker is draining: end the drain",
  configuration_busy: "another job of this configuration is still running",
  state_locked:
    "the state is locked by a job whose outcome is unknown or by a user: make sure that its terraform has ended, then unlock it",
  worker_in_use: "the worker to tear down still holds a job",
};

/** The texts around the names of the workers, for reasons whose workers are known. */
const wordsOfWorkers: Readonly<Partial<Record<string, readonly [before: string, after: string]>>> =
  {
    no_worker_online: ["no worker for this job is online: start the runner of ", ""],
    workers_draining: [
      "no worker for this job takes new jobs: end the drain of ",
      ", or start another runner",
    ],
    assigned_worker_offline: ["the assigned worker ", " is offline: start its runner"],
    assigned_worker_draining: ["the assigned worker ", " is draining: end the drain"],
    worker_in_use: ["the worker to tear down, ", ", still holds a job"],
  };

export type Waiting = Pick<Job, "waiting_details"> & { readonly waiting_reason: string };

/** Whether the server said why the job waits. */
export const isWaiting = <T extends Pick<Job, "waiting_reason" | "waiting_details">>(
  job: T,
): job is T & Waiting => job.waiting_reason !== null;

/** A part of a text about a worker or a job. */
export interface Mention {
  readonly what: "worker" | "job";
  readonly id: string;
  readonly text: string;
}

/** In parts, some of which can be links; an unknown reason is a sentence by itself. */
export function waitingParts({
  waiting_reason: reason,
  waiting_details: details,
}: Waiting): (string | Mention)[] {
  const words = (waitingWords as Readonly<Record<string, string>>)[reason] ?? reason;
  const { labels = [], workers = [], more_workers = false, job_id = null } = details ?? {};
  if (reason === "configuration_busy" && job_id !== null)
    return [
      { what: "job", id: job_id, text: "another job of this configuration" },
      " is still running",
    ];
  if (reason === "state_locked" && job_id !== null)
    return [
      "the state is locked by ",
      { what: "job", id: job_id, text: "a job that could not save its state" },
      ": store the state that its runner has kept, then unlock it",
    ];
  if (reason === "no_matching_worker") return noMatchParts(labels, workers, words);
  if (workers.length === 0) return [words];
  const [before, after] = wordsOfWorkers[reason] ?? [`${words} of `, ""];
  const mentions = workers.map(({ id, name }) => ({ what: "worker", id, text: name }) as const);
  const names = more_workers ? [...mentions, "another"] : mentions;
  const between = (place: number): string[] =>
    place === 0 ? [] : [place === names.length - 1 ? " or " : ", "];
  return [before, ...names.flatMap((name, place) => [...between(place), name]), after];
}

/** `workers`: the one that a teardown tears down, whose own runner may not run it. */
function noMatchParts(
  labels: readonly string[],
  [target]: WaitingDetails["workers"],
  words: string,
): (string | Mention)[] {
  const what =
    labels.length === 1 ? `the label ${labels[0]}` : `all of the labels ${labels.join(", ")}`;
  const give = `give ${labels.length === 1 ? "it" : "them"} to a worker that is to run the job`;
  const isAny = labels.length === 0;
  if (target === undefined) return [isAny ? words : `no worker has ${what}: ${give}`];
  const mention = { what: "worker", id: target.id, text: target.name } as const;
  return isAny
    ? [
        "the runner of ",
        mention,
        " cannot run its own teardown: start the runner of another worker",
      ]
    : ["no worker has ", what, " but ", mention, `, which the job tears down: ${give}`];
}

export const waitingText = (waiting: Waiting): string => waitingParts(waiting).map(plain).join("");

function plain(part: string | Mention): string {
  if (typeof part === "string") return part;
  return part.what === "worker" ? `"${part.text}"` : `${part.text} (${part.id})`;
}
