import {
  CreateRegistrationToken,
  CreateWorker,
  Heartbeat,
  HeartbeatAnswer,
  RegisterWorker,
  RegistrationToken,
  RegistrationTokenInfo,
  UpdateWorker,
  Worker,
  RotatedIdentity,
  ProveWorker,
  RotateToken,
  WorkerIdentity,
  WorkerProof,
} from "../../../protocol/workers.ts";
import { features } from "../../../protocol/features.ts";
import { at, example, ids } from "./example.ts";

const host = {
  hostname: "runner-1",
  os: "linux",
  arch: "x64",
  capacity: 2,
  isolation: "bubblewrap",
};

export const workerExamples = [
  example(Worker, {
    id: ids.worker,
    name: "runner-1",
    mode: "self-hosted",
    status: "ONLINE",
    version: "1.4.0",
    labels: ["region=eu"],
    features: [...features],
    ...host,
    active_job_ids: [ids.job],
    held_job_ids: [ids.job],
    last_heartbeat: at(150),
    created_at: at(0),
    metadata: { team: "platform" },
  }),
  example(WorkerIdentity, {
    worker_id: ids.worker,
    worker_token: "wlw_Zm9yIHRoZSBkb2N1bWVudCBvbmx5LCBub3QgYSB0b2tlbg",
  }),
  example(ProveWorker, { worker_id: ids.worker, nonce: "4SwL4hHYyRj0v3Xzq2mC5w" }),
  example(WorkerProof, { proof: "Rk9yIHRoZSBkb2N1bWVudCBvbmx5LCBub3QgYSBwcm9vZi4" }),
  example(RotateToken, { overlap_seconds: 600 }),
  example(RotatedIdentity, {
    worker_id: ids.worker,
    worker_token: "wlw_Zm9yIHRoZSBkb2N1bWVudCBvbmx5LCBub3QgYSB0b2tlbg",
    old_token_expires_at: at(600),
  }),
  example(RegisterWorker, { name: "runner-1", labels: ["region=eu"] }),
  example(CreateWorker, { name: "runner-1", mode: "self-hosted", labels: ["region=eu"] }),
  example(UpdateWorker, {
    labels: ["region=eu"],
    deploy_configuration: { configuration_id: ids.configuration, targets: ["module.worker"] },
  }),
  example(Heartbeat, {
    version: "1.4.0",
    active_job_ids: [ids.job],
    instance_id: "runner-1-4711",
    ...host,
    labels: ["region=eu"],
    features: [...features],
  }),
  example(HeartbeatAnswer, {
    worker_id: ids.worker,
    status: "ONLINE",
    server_time: at(150),
    heartbeat_interval_seconds: 30,
    cancelled_job_ids: [],
    latest_version: "1.4.0",
  }),
  example(CreateRegistrationToken, { uses: 1, expires_in_seconds: 3600 }),
  example(RegistrationToken, {
    registration_token: "wlr_Zm9yIHRoZSBkb2N1bWVudCBvbmx5LCBub3QgYSB0b2tlbg",
    id: "7f3a5c0e9d2b4186",
    expires_at: at(3600),
    uses_left: 1,
  }),
  example(RegistrationTokenInfo, {
    id: "7f3a5c0e9d2b4186",
    uses_left: 1,
    created_at: at(0),
    expires_at: at(3600),
  }),
];
