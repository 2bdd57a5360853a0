/** The wire's words as people say them: the command line and the console say the same. */
import type { WaitingReason } from "./jobs.ts";

/** Why a queued job does not run yet; after the colon, what one can do. */
export const waitingWords: Readonly<Record<WaitingReason, string>> = {
  waiting_for_worker: "it waits for a worker to have a free slot",
  no_matching_worker:
    "no worker has its labels, or there is none: register one that has, or change the labels",
  needs_backend_config: "it waits for a worker that supports backend_config: upgrade the agent",
  needs_debug: "it waits for a worker that supports debug: upgrade the agent",
  needs_submodules: "it waits for a worker that supports submodules: upgrade the agent",
  needs_var_files: "it waits for a worker that supports var_files: upgrade the agent",
  no_worker_online: "no worker that may take it is online: start one",
  assigned_worker_offline: "the worker it is meant for is offline: start it",
  assigned_worker_draining: "the worker it is meant for takes no new jobs: end its drain",
  configuration_busy: "another job of this configuration is not over yet",
  state_locked:
    "the state is locked by a job that was lost, or by a person: see whether that still runs, then unlock it",
  worker_in_use: "the worker to tear down still holds a job",
};

/** What a DESTROY_WORKER job destroys: `targets` of the configuration `name`, or without them all of it. */
export const destroyedWords = (targets: readonly string[] | undefined, name: string): string =>
  `${targets === undefined ? "everything in the state" : targets.join(", ")} of "${name}"`;

/** Why a plan replaces, destroys or reads something: terraform's words of `show -json`, as the end of "because …". */
const planReasons: Readonly<Record<string, string>> = {
  replace_because_tainted: "it is tainted: an earlier apply did not finish it",
  replace_because_cannot_update: "it cannot be changed in place",
  replace_by_request: "somebody asked for it",
  replace_by_triggers: "one of its replace_triggered_by changes",
  delete_because_no_resource_config: "it is no longer in the configuration",
  delete_because_no_module: "its module is no longer in the configuration",
  delete_because_wrong_repetition: "count or for_each was added or taken away",
  delete_because_count_index: "count is lower now",
  delete_because_each_key: "its key is no longer in for_each",
  delete_because_no_move_target: "it was moved to where nothing is configured",
  read_because_config_unknown: "its configuration is known only after the apply",
  read_because_dependency_pending: "what it depends on changes first",
  read_because_check_nested: "a check needs it",
};

/** A reason that is in no table, of a newer terraform, is said in its own words. */
export const planReason = (reason: string): string =>
  planReasons[reason] ?? reason.replaceAll("_", " ");

/** A field by the name that people know it by: where in a request it came does not matter to them. */
export const fieldName = (path: string): string =>
  path
    .replace(/^(body|params|querystring|query|headers)\./, "")
    .replace(/\.(\d{1,6})(?=\.|$)/g, (_, index: string) => ` (entry ${Number(index) + 1})`);

/** What is wrong with one field of a request: `name must not be empty`. */
export const faultText = ({ path, message }: { path: string; message: string }): string =>
  `${fieldName(path)} ${message}`;
