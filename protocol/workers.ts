/** Workers (runners): registration, heartbeat, metadata, and what a person does with them. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { Wait } from "./executions.ts";
import {
  JsonObject,
  Labels,
  Name,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  Timestamp,
  Uuid,
} from "./fields.ts";

export const WorkerMode = OneOf(["self-hosted", "cloud-hosted"]);
export type WorkerMode = Static<typeof WorkerMode>;

export const WorkerStatus = OneOf(["REGISTERED", "ONLINE", "DRAINING", "OFFLINE"]);
export type WorkerStatus = Static<typeof WorkerStatus>;

/** How a runner keeps jobs apart, weakest first. */
export const Isolation = OneOf(["process", "uid", "bubblewrap", "container"]);

/** Metadata is at most 64 KiB of JSON after a merge. */
export const workerMetadataLimit = 65_536;

export const Worker = Type.Object({
  id: Uuid,
  name: Name,
  mode: WorkerMode,
  status: WorkerStatus,
  version: Nullable(Type.String()),
  labels: Labels,
  hostname: Nullable(Type.String()),
  os: Nullable(Type.String()),
  arch: Nullable(Type.String()),
  capacity: Nullable(Type.Integer()),
  isolation: Nullable(Type.String()),
  active_job_ids: Type.Array(Uuid),
  last_heartbeat: Nullable(Timestamp),
  created_at: Timestamp,
  metadata: JsonObject,
});
export type Worker = Static<typeof Worker>;

/** Answered once; the token is not stored and cannot be read again. */
export const WorkerIdentity = Type.Object({ worker_id: Uuid, worker_token: Type.String() });
export type WorkerIdentity = Static<typeof WorkerIdentity>;

export const RegisterWorker = Type.Object({
  name: Name,
  mode: Type.Optional(Type.String({ maxLength: 50 })),
  labels: Type.Optional(Labels),
});
export type RegisterWorker = Static<typeof RegisterWorker>;

export const CreateWorker = Type.Object(
  {
    name: Name,
    mode: Type.Optional(OneOf(["self-hosted"])),
    labels: Type.Optional(Labels),
  },
  { additionalProperties: false },
);
export type CreateWorker = Static<typeof CreateWorker>;

const Short = Type.String({ maxLength: 255 });

export const Heartbeat = Type.Object({
  version: Type.String({ minLength: 1, maxLength: 100 }),
  active_job_ids: Type.Optional(Type.Array(Uuid, { maxItems: 1000 })),
  instance_id: Type.Optional(Short),
  hostname: Type.Optional(Short),
  os: Type.Optional(Short),
  arch: Type.Optional(Short),
  capacity: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  isolation: Type.Optional(Short),
  labels: Type.Optional(Labels),
});
export type Heartbeat = Static<typeof Heartbeat>;

export const HeartbeatAnswer = Type.Object({
  worker_id: Uuid,
  status: WorkerStatus,
  server_time: Timestamp,
  heartbeat_interval_seconds: Type.Number(),
  cancelled_job_ids: Type.Array(Uuid),
  latest_version: Nullable(Type.String()),
});
export type HeartbeatAnswer = Static<typeof HeartbeatAnswer>;

export const CreateRegistrationToken = Type.Object(
  {
    uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    expires_in_seconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 30 * 24 * 3600 })),
  },
  { additionalProperties: false },
);
export type CreateRegistrationToken = Static<typeof CreateRegistrationToken>;

export const RegistrationToken = Type.Object({
  registration_token: Type.String(),
  expires_at: Timestamp,
  uses_left: Type.Integer(),
});
export type RegistrationToken = Static<typeof RegistrationToken>;

const workerParams = Type.Object({ id: Uuid });

export const workerEndpoints = {
  registerWorker: endpoint({
    method: "POST",
    path: "/api/workers/register",
    summary: "Register a worker, or give a registered one a new token",
    caller: "registrant",
    body: RegisterWorker,
    status: 201,
    answer: WorkerIdentity,
  }),
  heartbeat: endpoint({
    method: "POST",
    path: "/api/workers/heartbeat",
    summary: "Say that the worker lives; with `wait` it stays open for cancels and drains",
    caller: "worker",
    query: Wait,
    body: Heartbeat,
    status: 200,
    answer: HeartbeatAnswer,
  }),
  readWorker: endpoint({
    method: "GET",
    path: "/api/workers/{id}",
    summary: "Read the calling worker, or the one that its DESTROY_WORKER job names",
    caller: "worker",
    params: workerParams,
    status: 200,
    answer: Worker,
  }),
  updateWorkerMetadata: endpoint({
    method: "POST",
    path: "/api/workers/{id}/metadata",
    summary: "Merge new values into the worker's metadata (RFC 7396)",
    caller: "worker",
    params: workerParams,
    body: JsonObject,
    bodyLimit: 2 * workerMetadataLimit,
    status: 200,
    answer: Worker,
  }),
  listWorkers: endpoint({
    method: "GET",
    path: "/api/cli/workers",
    summary: "List workers, newest first",
    caller: "client",
    query: Type.Object({ ...Paging }),
    status: 200,
    answer: Type.Object({ workers: Type.Array(Worker), next_cursor: NextCursor }),
  }),
  createWorker: endpoint({
    method: "POST",
    path: "/api/cli/workers",
    summary: "Register a self-hosted worker",
    caller: "client",
    body: CreateWorker,
    status: 201,
    answer: WorkerIdentity,
  }),
  getWorker: endpoint({
    method: "GET",
    path: "/api/cli/workers/{id}",
    summary: "Read a worker",
    caller: "client",
    params: workerParams,
    status: 200,
    answer: Worker,
  }),
  drainWorker: endpoint({
    method: "POST",
    path: "/api/cli/workers/{id}/drain",
    summary: "Give the worker no new jobs",
    caller: "client",
    params: workerParams,
    status: 200,
    answer: Worker,
  }),
  undrainWorker: endpoint({
    method: "DELETE",
    path: "/api/cli/workers/{id}/drain",
    summary: "Give the worker jobs again",
    caller: "client",
    params: workerParams,
    status: 200,
    answer: Worker,
  }),
  rotateWorkerToken: endpoint({
    method: "POST",
    path: "/api/cli/workers/{id}/rotate-token",
    summary: "Make a new token for the worker; the old one is dead at once",
    caller: "client",
    params: workerParams,
    status: 200,
    answer: WorkerIdentity,
  }),
  deleteWorker: endpoint({
    method: "DELETE",
    path: "/api/cli/workers/{id}",
    summary: "Remove a worker; its jobs count as lost at once",
    caller: "client",
    params: workerParams,
    status: 204,
  }),
  createRegistrationToken: endpoint({
    method: "POST",
    path: "/api/cli/registration-tokens",
    summary: "Make a token with which a runner registers itself",
    caller: "client",
    body: CreateRegistrationToken,
    status: 201,
    answer: RegistrationToken,
  }),
};
