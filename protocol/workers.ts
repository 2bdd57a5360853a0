/** Workers (runners): registration, heartbeat, metadata, and what a person does with them. */
import { Type, type Static } from "typebox";
import { DeployConfiguration } from "./deploy-configurations.ts";
import { features } from "./features.ts";
import { about, JsonObject, Labels, Name, Nullable, OneOf, Timestamp, Uuid } from "./fields.ts";

const Features = Type.Array(Type.String({ maxLength: 64, pattern: "^[a-z][a-z0-9_]*$" }), {
  maxItems: 64,
  uniqueItems: true,
  description: `What it can do beyond running a plain configuration: ${features.map((name) => `\`${name}\``).join(", ")}. A job that needs one goes only to a runner that reports it.`,
});

export const WorkerMode = OneOf(["self-hosted", "cloud-hosted"]);
export type WorkerMode = Static<typeof WorkerMode>;

export const WorkerStatus = OneOf(["REGISTERED", "ONLINE", "DRAINING", "OFFLINE"]);
export type WorkerStatus = Static<typeof WorkerStatus>;

/** How a runner keeps jobs apart, weakest first. */
export const Isolation = OneOf(["process", "uid", "bubblewrap", "container"]);

/** Metadata is at most 64 KiB of JSON after a merge, without the deploy configuration. */
export const workerMetadataLimit = 65_536;

export const Worker = Type.Object({
  id: Uuid,
  name: Name,
  mode: WorkerMode,
  status: WorkerStatus,
  version: Nullable(Type.String()),
  labels: Labels,
  features: Features,
  hostname: Nullable(Type.String()),
  os: Nullable(Type.String()),
  arch: Nullable(Type.String()),
  capacity: about(Nullable(Type.Integer()), "How many jobs it runs at once."),
  isolation: about(Nullable(Type.String()), "How it keeps jobs apart."),
  active_job_ids: about(Type.Array(Uuid), "What it last said it works on."),
  last_heartbeat: Nullable(Timestamp),
  created_at: Timestamp,
  metadata: about(
    JsonObject,
    "What the worker keeps here. Of it, `deploy_configuration` (DeployConfiguration) is set by people and says what a DESTROY_WORKER job destroys.",
  ),
});
export type Worker = Static<typeof Worker>;

/** Answered once; the token is not stored and cannot be read again. */
export const WorkerIdentity = Type.Object({
  worker_id: Uuid,
  worker_token: about(Type.String(), "Answered this once; not stored and never shown again."),
});
export type WorkerIdentity = Static<typeof WorkerIdentity>;

/** How long the token that is replaced works on, in seconds. */
export const tokenOverlap = { default: 600, maximum: 600 } as const;

export const RotateToken = Nullable(
  Type.Object(
    {
      overlap_seconds: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: tokenOverlap.maximum,
          description: `How long the old token works on; ${tokenOverlap.default} by default, and 0 ends it at once.`,
        }),
      ),
    },
    { additionalProperties: false },
  ),
);
export type RotateToken = Static<typeof RotateToken>;

export const RotatedIdentity = Type.Object({
  ...WorkerIdentity.properties,
  old_token_expires_at: about(Nullable(Timestamp), "Null: the old token is dead already."),
});
export type RotatedIdentity = Static<typeof RotatedIdentity>;

export const RegisterWorker = Type.Object({
  name: Name,
  mode: Type.Optional(Type.String({ maxLength: 50 })),
  labels: Type.Optional(Labels),
  isolation: Type.Optional(Type.String({ maxLength: 255 })),
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

/** Only what is given changes. */
export const UpdateWorker = Type.Object(
  {
    name: Type.Optional(Name),
    labels: Type.Optional(
      about(Labels, "A runner that has labels of its own sets those again with its heartbeat."),
    ),
    deploy_configuration: Type.Optional(
      about(Nullable(DeployConfiguration), "What a DESTROY_WORKER job destroys; null removes it."),
    ),
  },
  { additionalProperties: false },
);
export type UpdateWorker = Static<typeof UpdateWorker>;

export const ProveWorker = Type.Object({
  worker_id: Uuid,
  nonce: about(Type.String({ minLength: 16, maxLength: 128 }), "Random text of the agent."),
});
export type ProveWorker = Static<typeof ProveWorker>;

export const WorkerProof = Type.Object({
  proof: about(
    Type.String(),
    'HMAC-SHA-256 in base64url of "windlass worker proof", a line feed and the nonce, under the worker token\'s SHA-256 in hex.',
  ),
});
export type WorkerProof = Static<typeof WorkerProof>;

const Short = Type.String({ maxLength: 255 });

export const Heartbeat = Type.Object({
  version: Type.String({ minLength: 1, maxLength: 100 }),
  active_job_ids: Type.Optional(
    Type.Array(Uuid, {
      maxItems: 1000,
      description: "What it works on; a job that it keeps leaving out counts as lost.",
    }),
  ),
  instance_id: Type.Optional(
    about(Short, "Made anew by each start: two agents with one identity are told apart by it."),
  ),
  hostname: Type.Optional(Short),
  os: Type.Optional(Short),
  arch: Type.Optional(Short),
  capacity: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  isolation: Type.Optional(Short),
  labels: Type.Optional(Labels),
  features: Type.Optional(Features),
  leaving: Type.Optional(
    Type.Boolean({
      description:
        "The last heartbeat of an agent that ends and holds no job: OFFLINE at once, and the identity is free.",
    }),
  ),
});
export type Heartbeat = Static<typeof Heartbeat>;

export const HeartbeatAnswer = Type.Object({
  worker_id: Uuid,
  status: WorkerStatus,
  server_time: Timestamp,
  heartbeat_interval_seconds: Type.Number(),
  cancelled_job_ids: about(Type.Array(Uuid), "Its jobs that are to be stopped."),
  latest_version: about(Nullable(Type.String()), "The highest published release."),
});
export type HeartbeatAnswer = Static<typeof HeartbeatAnswer>;

export const CreateRegistrationToken = Type.Object(
  {
    uses: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: "How many workers; 1 by default." }),
    ),
    expires_in_seconds: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 30 * 24 * 3600, description: "An hour by default." }),
    ),
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
