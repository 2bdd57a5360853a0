/** Why a queued job waits. */
import { Type, type Static } from "typebox";
import { about, Nullable, OneOf, Uuid } from "./fields.ts";

/** Why a QUEUED job is not running yet; null on any other job. */
export const WaitingReason = OneOf([
  /** An online worker may take it and will when it has a free slot. */
  "waiting_for_worker",
  /** The owner has no worker whose labels include the job's. */
  "no_matching_worker",
  /** There are such workers, but none reports the feature that the job needs. */
  "needs_backend_config",
  "needs_debug",
  "needs_exclude",
  "needs_identity_aws_web_identity",
  "needs_identity_azure",
  "needs_identity_gcp",
  "needs_identity_vault",
  "needs_merge",
  "needs_plan_digest",
  "needs_plan_options",
  "needs_source_access",
  "needs_submodules",
  "needs_var_files",
  /** There are such workers, none of them online. */
  "no_worker_online",
  /** None of them takes new jobs, and at least one is DRAINING. */
  "workers_draining",
  /** The assigned worker is OFFLINE. */
  "assigned_worker_offline",
  /** The assigned worker is DRAINING. */
  "assigned_worker_draining",
  /** Another job of the configuration is running or not released yet. */
  "configuration_busy",
  /** The state is locked by a lost job or by a user. */
  "state_locked",
  /** DESTROY_WORKER: the worker to tear down still holds a job. */
  "worker_in_use",
]);
export type WaitingReason = Static<typeof WaitingReason>;

/** One of these words, or a sentence: about the approvals that it waits for, or the jobs that go first. */
export const ShownWaitingReason = Type.Union([
  WaitingReason,
  Type.String({ examples: ["waits for 1 approval by a deployer other than ada@example.com"] }),
]);

/** How many workers a waiting reason names. */
export const waitingWorkersShown = 3;

/** What a waiting reason is about. */
export const WaitingDetails = Type.Object({
  labels: about(
    Type.Array(Type.String()),
    "Of `no_matching_worker`: the labels of the job that no worker has or, if there is a worker for each, that no worker has together.",
  ),
  workers: about(
    Type.Array(Type.Object({ id: Uuid, name: Type.String() }), { maxItems: waitingWorkersShown }),
    "The workers that are offline, are draining, lack the feature or still hold a job; of a DESTROY_WORKER that waits for another worker, the one that it tears down.",
  ),
  more_workers: about(Type.Boolean(), "Whether there are more of them."),
  job_id: about(
    Nullable(Uuid),
    "Of `configuration_busy`: the job of the configuration that is not released. Of `state_locked`: the job that locks the state because it could not save it; null if another lock is meant.",
  ),
});
export type WaitingDetails = Static<typeof WaitingDetails>;

/** Older servers do not send it. */
export const OptionalWaitingDetails = Type.Optional(
  about(
    Nullable(WaitingDetails),
    "What `waiting_reason` is about; null if it is not about labels, workers or a job.",
  ),
);
