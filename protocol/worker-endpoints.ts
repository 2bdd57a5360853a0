/** The endpoints of workers, for the workers themselves and for users. */
import { Type } from "typebox";
import { endpoint } from "./endpoint.ts";
import { Wait } from "./executions.ts";
import { about, JsonObject, NextCursor, Paging, Uuid } from "./fields.ts";
import {
  CreateRegistrationToken,
  CreateWorker,
  Heartbeat,
  HeartbeatAnswer,
  ProveWorker,
  RegisterWorker,
  RegistrationToken,
  RegistrationTokenId,
  RegistrationTokenInfo,
  RotatedIdentity,
  RotateToken,
  UpdateWorker,
  Worker,
  WorkerIdentity,
  WorkerProof,
  workerMetadataLimit,
} from "./workers.ts";

const workerParams = { id: about(Uuid, "The worker.") };

export const workerEndpoints = {
  registerWorker: endpoint("POST /api/workers/register", {
    summary: "Register a worker, or give a registered one a new token",
    description:
      "With a registration token or as a user, this creates a worker. With the headers of a worker, it gives that worker a new token. The token is returned once and stored as a hash.",
    caller: "registrant",
    permission: "administer",
    body: RegisterWorker,
    status: 201,
    answer: WorkerIdentity,
    refusals: ["quota_exceeded"],
  }),
  proveWorker: endpoint("POST /api/workers/proof", {
    summary: "Prove that this control plane knows a worker",
    description:
      "An agent whose control plane has a new address calls this before it sends its token there. For an unknown worker the proof is wrong; the response does not differ otherwise.",
    caller: "anyone",
    body: ProveWorker,
    bodyLimit: 8 * 1024,
    answer: WorkerProof,
  }),
  heartbeat: endpoint("POST /api/workers/heartbeat", {
    summary: "Report that the worker is alive; with `wait`, wait for cancellations and drains",
    description:
      "Sent every `heartbeat_interval_seconds`. After 60 s without one the worker is OFFLINE, and later its jobs are lost. With `wait` the server responds as soon as a job is cancelled or the status changes.",
    caller: "worker",
    query: Wait,
    body: Heartbeat,
    answer: HeartbeatAnswer,
    refusals: ["identity_in_use"],
  }),
  readWorker: endpoint("GET /api/workers/{id}", {
    summary: "Read the calling worker, or the one that its DESTROY_WORKER job names",
    caller: "worker",
    params: workerParams,
    answer: Worker,
  }),
  updateWorkerMetadata: endpoint("POST /api/workers/{id}/metadata", {
    summary: "Merge new values into the worker's metadata (RFC 7396)",
    description: "At most 64 KiB of JSON after the merge.",
    caller: "worker",
    params: workerParams,
    body: JsonObject,
    bodyLimit: 2 * workerMetadataLimit,
    answer: Worker,
  }),
  listWorkers: endpoint("GET /api/cli/workers", {
    summary: "List workers, newest first",
    permission: "read",
    query: Paging,
    answer: Type.Object({ workers: Type.Array(Worker), next_cursor: NextCursor }),
  }),
  createWorker: endpoint("POST /api/cli/workers", {
    summary: "Register a self-hosted worker",
    permission: "administer",
    body: CreateWorker,
    status: 201,
    answer: WorkerIdentity,
  }),
  getWorker: endpoint("GET /api/cli/workers/{id}", {
    summary: "Read a worker",
    permission: "read",
    params: workerParams,
    answer: Worker,
  }),
  updateWorker: endpoint("PATCH /api/cli/workers/{id}", {
    summary: "Change the name, labels or deploy configuration of a worker",
    description:
      "Changes only the fields in the request. A deploy configuration has a `configuration_id` of the owner or a `snapshot`, and is checked now and when a DESTROY_WORKER job uses it. Without `targets` that job destroys everything in the state, and the response has `all: true`. Sensitive values of a snapshot are encrypted; one without `value` keeps its value.",
    permission: "administer",
    params: workerParams,
    body: UpdateWorker,
    answer: Worker,
    refusals: ["forbidden_environment_name"],
  }),
  drainWorker: endpoint("POST /api/cli/workers/{id}/drain", {
    summary: "Give the worker no new jobs",
    permission: "administer",
    params: workerParams,
    answer: Worker,
  }),
  undrainWorker: endpoint("DELETE /api/cli/workers/{id}/drain", {
    summary: "Give the worker jobs again",
    permission: "administer",
    params: workerParams,
    answer: Worker,
  }),
  rotateWorkerToken: endpoint("POST /api/cli/workers/{id}/rotate-token", {
    summary: "Create a new token for the worker",
    description:
      "The old token still works for `overlap_seconds`, so that the agent can get the new one without interruption. A token replaced by an earlier rotation stops working at once. With 0, a running agent stops its jobs and exits.",
    permission: "administer",
    params: workerParams,
    body: RotateToken,
    answer: RotatedIdentity,
  }),
  deleteWorker: endpoint("DELETE /api/cli/workers/{id}", {
    summary: "Remove a worker; its jobs count as lost at once",
    permission: "administer",
    params: workerParams,
  }),
  createRegistrationToken: endpoint("POST /api/cli/registration-tokens", {
    summary: "Create a token with which new runners register themselves",
    permission: "administer",
    body: CreateRegistrationToken,
    status: 201,
    answer: RegistrationToken,
  }),
  listRegistrationTokens: endpoint("GET /api/cli/registration-tokens", {
    summary: "List the registration tokens that can still be used, newest first",
    permission: "administer",
    query: Paging,
    answer: Type.Object({
      registration_tokens: Type.Array(RegistrationTokenInfo),
      next_cursor: NextCursor,
    }),
  }),
  revokeRegistrationToken: endpoint("DELETE /api/cli/registration-tokens/{id}", {
    summary: "Revoke a registration token; the workers that used it stay registered",
    permission: "administer",
    params: { id: about(RegistrationTokenId, "The id of the token.") },
  }),
};
