/** Zones and configurations (specs), and the snapshot of a configuration that a runner gets. */
import { Type, type Static } from "typebox";
import { shownApproval, writtenApproval } from "./approvals.ts";
import { Backend, Deployed, StateBackend } from "./deployed.ts";
import { FailedJob } from "./failed-job.ts";
import {
  about,
  ErrorMessage,
  Labels,
  MapOf,
  Name,
  Nullable,
  OneOf,
  Sha256,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { watchedFields, writtenExpiry } from "./expiry.ts";
import { shownFollow, writtenFollow } from "./follow.ts";
import { parallelismLimit, timeoutSecondsLimit } from "./limits.ts";
import { TeamSlug } from "./teams.ts";
import { numbersNote, TextValue, valueFields, VariableName } from "./values.ts";

/** Limit of all inline files together: 1 MiB of text. */
export const inlineFilesLimit = 1024 * 1024;
export const inlineFileCount = 1000;

/** Within the configuration, without empty parts, dot parts or control characters. */
const RelativePath = Type.String({
  maxLength: 1024,
  pattern: "^(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f]+(/(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f]+)*$",
  "x-form": "a path inside the source, such as modules/network/main.tf",
});

export const GitSource = Type.Object(
  {
    type: Type.Literal("git"),
    url: Type.String({ minLength: 1, maxLength: 2048 }),
    ref: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    path: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  { additionalProperties: false },
);
export const ArchiveSource = Type.Object(
  { type: Type.Literal("archive"), sha256: Sha256 },
  { additionalProperties: false },
);
export const InlineSource = Type.Object(
  {
    type: Type.Literal("inline"),
    files: MapOf(RelativePath, Type.String({ maxLength: inlineFilesLimit }), {
      minProperties: 1,
      maxProperties: inlineFileCount,
    }),
  },
  { additionalProperties: false },
);
/** Where the Terraform files come from. */
export type Source =
  | Static<typeof GitSource>
  | Static<typeof ArchiveSource>
  | Static<typeof InlineSource>;
/** Validated by its `type`, so that errors name only the fields of that kind. */
export const Source = Type.Unsafe<Source>({
  type: "object",
  required: ["type"],
  discriminator: { propertyName: "type" },
  oneOf: [GitSource, ArchiveSource, InlineSource],
});

/** Limit of the number of `.tfvars` files. */
export const varFilesLimit = 20;
export const backendSettingsLimit = 100;

export const Engine = OneOf(["terraform", "opentofu"]);
export type Engine = Static<typeof Engine>;

export { environmentLimit, Variable, variablesLimit } from "./values.ts";
export type { TextValue } from "./values.ts";

const snapshotFields = {
  source: Source,
  engine: Type.Optional(Engine),
  engine_version: Type.Optional(
    about(
      Nullable(Type.String({ minLength: 1, maxLength: 200 })),
      "A version or a constraint, such as `~> 1.14`. Null: the version that the runner has.",
    ),
  ),
  working_directory: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: "The directory of the source in which terraform runs.",
    }),
  ),
  ...valueFields,
  backend: Type.Optional(
    about(
      Backend,
      "Where the state is kept. `managed`: in the control plane. `own`: in the backend that the files declare. Missing: `own` if the files declare a backend, else `managed`.",
    ),
  ),
  var_files: Type.Optional(
    Type.Array(RelativePath, {
      maxItems: varFilesLimit,
      uniqueItems: true,
      description:
        "Variable files in the source, such as `envs/prod.tfvars`, relative to the same directory as `working_directory`. Later files override earlier ones, and `variables` override all of them.",
    }),
  ),
  backend_config: Type.Optional(
    MapOf(VariableName, TextValue, {
      maxProperties: backendSettingsLimit,
      description:
        "Settings that the declared backend leaves open (`terraform init -backend-config`): text, or `{value, sensitive}`. Terraform stores these values in plan files. Text with a name that ends in token, secret, password, key or credentials is sensitive, except `key` itself.",
    }),
  ),
  parallelism: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: parallelismLimit,
      description: "How many resources terraform handles at once. Default: 10.",
    }),
  ),
  submodules: Type.Optional(
    about(Type.Boolean(), "Whether to fetch the submodules of a git source. Default: false."),
  ),
  timeout_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: timeoutSecondsLimit,
      description: "Stops a job that runs longer. Default: 3600.",
    }),
  ),
};

/** Where `windlass up` made a configuration. Runners do not get it. */
const Origin = Type.String({
  minLength: 1,
  maxLength: 2048,
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
  "x-form": "text without control characters",
  description:
    "The directory from which `windlass up` created the configuration: a git remote and a path in it, or an id that the client keeps in the directory. `windlass up` asks before it changes a configuration with another origin.",
});

/** The fields in requests of users, where null clears a choice. */
const writtenFields = {
  ...snapshotFields,
  parallelism: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: parallelismLimit }))),
  backend: Type.Optional(
    about(
      Nullable(Backend),
      "Where to keep the state. `managed`: in the control plane, even if the files declare a backend. `own`: in the backend that the files declare. Null or missing: `own` if the files declare a backend, else `managed`.",
    ),
  ),
};

/** What a runner needs to run a configuration, fixed when the job is created. */
export const ConfigSnapshot = Type.Object({
  name: Type.Optional(StoredName),
  project_name: Type.Optional(StoredName),
  ...snapshotFields,
});
export type ConfigSnapshot = Static<typeof ConfigSnapshot>;

/** The snapshot for the runner that holds the job: with every value, as plain text. */
export const ClaimedSnapshot = Type.Object({
  ...ConfigSnapshot.properties,
  environment: Type.Optional(MapOf(Type.String(), Type.String())),
  backend_config: Type.Optional(MapOf(Type.String(), Type.String())),
  sensitive_environment: Type.Optional(
    about(
      Type.Array(Type.String()),
      "The names in `environment` whose values must not appear in a log.",
    ),
  ),
  sensitive_backend_config: Type.Optional(
    about(Type.Array(Type.String()), "The same for `backend_config`."),
  ),
  set_variables: Type.Optional(
    about(
      Type.Array(Type.String()),
      "The names in `variables` whose values come from variable sets. The runner need not pass those that the files do not declare.",
    ),
  ),
});
export type ClaimedSnapshot = Static<typeof ClaimedSnapshot>;

export const ConfigurationStatus = OneOf([
  "NEW",
  "DEPLOYING",
  "DEPLOYED",
  "DESTROYING",
  "DESTROYED",
  "FAILED",
]);
export type ConfigurationStatus = Static<typeof ConfigurationStatus>;

const omittedBytes = about(
  Type.Integer({ minimum: 0 }),
  "The size in bytes, as JSON, of a value that is too large to be kept. Absent if `value` is there.",
);

export const outputsOmitted = about(
  Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
  "How many outputs are left out because there are more than 1,000, or because their names and types are larger than 2 MiB in total. Absent if none is.",
);

/** One output of what is deployed; a sensitive one, and one that is too large, has no value. */
export const Component = Type.Object({
  name: Type.String(),
  type: Type.Unknown(),
  value: Type.Optional(about(Type.Unknown(), numbersNote)),
  sensitive: Type.Boolean(),
  omitted_bytes: Type.Optional(omittedBytes),
});
export type Component = Static<typeof Component>;

/** A variable set of which a configuration gets the values. */
export const AttachedSet = Type.Object({
  id: Uuid,
  name: StoredName,
  attached_to: about(
    OneOf(["configuration", "zone"]),
    "Whether it is attached to the configuration itself or to its zone.",
  ),
});
export type AttachedSet = Static<typeof AttachedSet>;

export const Configuration = Type.Object({
  id: Uuid,
  name: StoredName,
  project_name: StoredName,
  zone_id: Uuid,
  cloud_identity_id: Nullable(Uuid),
  cloud_identity_name: Type.Optional(
    about(StoredName, "For callers with roles in zones only, who cannot read the identity itself."),
  ),
  labels: Labels,
  origin: Type.Optional(Origin),
  ...snapshotFields,
  status: ConfigurationStatus,
  error_message: about(Nullable(ErrorMessage), "Why the status is FAILED; null otherwise."),
  deployed: about(
    Nullable(Deployed),
    "What is deployed, also while the status is FAILED; null if nothing is.",
  ),
  state_backend: StateBackend,
  failed_job: Type.Optional(
    about(
      Nullable(FailedJob),
      "The job whose failure is unresolved: a DEPLOY or DESTROY that failed, or was cancelled after it changed something or with an unknown outcome, until one succeeds, even if a PLAN has since ended the status FAILED; else a PLAN that failed, until a job succeeds.",
    ),
  ),
  cluster_name: Nullable(Type.String()),
  cluster_endpoint: Nullable(Type.String()),
  gitops_url: Nullable(Type.String()),
  components: Type.Array(Component),
  outputs_omitted: Type.Optional(outputsOmitted),
  variable_sets: Type.Optional(
    Type.Array(AttachedSet, {
      description:
        "The variable sets that its jobs get values from. The configuration's own value wins, then the first set in this list that has the name.",
    }),
  ),
  approval: shownApproval,
  follow: shownFollow,
  ...watchedFields,
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Configuration = Static<typeof Configuration>;

const describingFields = {
  project_name: Type.Optional(Name),
  cloud_identity_id: Type.Optional(Nullable(Uuid)),
  labels: Type.Optional(Labels),
  origin: Type.Optional(Origin),
  approval: writtenApproval,
  follow: writtenFollow,
  expires_at: writtenExpiry,
  ...writtenFields,
};

export const CreateConfiguration = Type.Object(
  { name: Name, zone_id: Uuid, ...describingFields },
  { additionalProperties: false },
);
export type CreateConfiguration = Static<typeof CreateConfiguration>;

/**
 * Changes the fields in the request; `variables` and `environment` as a whole, in which one without
 * `value` keeps its value.
 */
export const UpdateConfiguration = Type.Object(
  {
    name: Type.Optional(Name),
    zone_id: Type.Optional(Uuid),
    ...describingFields,
    source: Type.Optional(Source),
  },
  { additionalProperties: false },
);
export type UpdateConfiguration = Static<typeof UpdateConfiguration>;

export const Zone = Type.Object({
  id: Uuid,
  name: StoredName,
  specs: Type.Array(Configuration),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Zone = Static<typeof Zone>;

export const CreateZone = Type.Object({ name: Name }, { additionalProperties: false });
export type CreateZone = Static<typeof CreateZone>;

export const UpdateZone = Type.Object(
  {
    name: Type.Optional(Name),
    team: Type.Optional(
      about(
        Nullable(TeamSlug),
        "Moves the zone, with its configurations, their jobs and their states, to this team; null: to the caller's personal space. The caller must be an admin in both.",
      ),
    ),
  },
  { additionalProperties: false },
);
export type UpdateZone = Static<typeof UpdateZone>;

export const Archive = Type.Object({ sha256: Sha256, size_bytes: Type.Integer() });
export type Archive = Static<typeof Archive>;
