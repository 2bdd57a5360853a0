/** Zones and configurations (specs): what people describe, and the snapshot of it that a runner gets. */
import { Type, type Static } from "typebox";
import {
  about,
  ErrorMessage,
  Labels,
  MapOf,
  Name,
  Nullable,
  OneOf,
  Sha256,
  Timestamp,
  Uuid,
} from "./fields.ts";

/** Inline files together: 1 MiB of text. */
export const inlineFilesLimit = 1024 * 1024;
/** As many inline files. */
export const inlineFileCount = 1000;
/** The JSON of all variables together: 4 MiB. */
export const variablesLimit = 4 * 1024 * 1024;
/** An uploaded archive: 50 MB, like a plan artifact. */
export const archiveLimit = 52_428_800;

/** A path below the configuration's folder: no way out of it, no empty or dot parts, no control characters. */
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
/** Where the terraform files come from. */
export type Source =
  | Static<typeof GitSource>
  | Static<typeof ArchiveSource>
  | Static<typeof InlineSource>;
/** Judged by its `type`: what is wrong with one kind is no fault of the others. */
export const Source = Type.Unsafe<Source>({
  type: "object",
  required: ["type"],
  discriminator: { propertyName: "type" },
  oneOf: [GitSource, ArchiveSource, InlineSource],
});

/** A terraform variable. `value` is any JSON; of a sensitive one it is shown only to the runner that holds the job. */
export const Variable = Type.Object(
  {
    value: Type.Optional(
      about(Type.Unknown(), "Any JSON; of a sensitive one only its runner sees it."),
    ),
    sensitive: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
export type Variable = Static<typeof Variable>;

const environmentValueLimit = 32_768;
/** Text that may be sensitive; then only the runner that holds the job gets its value. */
const TextValue = Type.Union([
  Type.String({ maxLength: environmentValueLimit }),
  Type.Object(
    {
      value: Type.Optional(Type.String({ maxLength: environmentValueLimit })),
      sensitive: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
]);
export type TextValue = Static<typeof TextValue>;

/** As many `.tfvars` files. */
export const varFilesLimit = 20;
/** As many settings of a backend. */
export const backendSettingsLimit = 100;

export const Engine = OneOf(["terraform", "opentofu"]);
export type Engine = Static<typeof Engine>;

/** `managed`: the control plane keeps the state; `own`: the configuration's own backend block is used. */
export const Backend = OneOf(["managed", "own"]);

export { timeoutSecondsDefault } from "./limits.ts";

const VariableName = Type.String({
  pattern: "^[A-Za-z_][A-Za-z0-9_-]{0,254}$",
  "x-form": "up to 255 letters, digits, _ and -, beginning with a letter or _",
});
const EnvironmentName = Type.String({
  pattern: "^[A-Za-z_][A-Za-z0-9_]{0,254}$",
  "x-form": "up to 255 letters, digits and _, beginning with a letter or _",
});

const snapshotFields = {
  source: Source,
  engine: Type.Optional(Engine),
  engine_version: Type.Optional(
    about(
      Nullable(Type.String({ minLength: 1, maxLength: 200 })),
      "A version or a constraint, such as `~> 1.14`; null: what the runner has.",
    ),
  ),
  working_directory: Type.Optional(
    Type.String({ maxLength: 1024, description: "Where terraform runs, below the source." }),
  ),
  variables: Type.Optional(
    MapOf(VariableName, Variable, {
      maxProperties: 1000,
      description: "Terraform variables by name.",
    }),
  ),
  environment: Type.Optional(
    MapOf(EnvironmentName, TextValue, {
      maxProperties: 200,
      description:
        "What terraform and its providers find in their environment: text, or `{value, sensitive}`. Text under a name that ends in TOKEN, SECRET, PASSWORD, KEY or CREDENTIALS is sensitive.",
    }),
  ),
  backend: Type.Optional(
    about(
      Backend,
      "`managed`: the state is kept here; `own`: in the backend that the files declare; missing: in the one that they declare, or here if they declare none.",
    ),
  ),
  var_files: Type.Optional(
    Type.Array(RelativePath, {
      maxItems: varFilesLimit,
      uniqueItems: true,
      description:
        "Files of variables in the source, such as `envs/prod.tfvars`, below the same folder as `working_directory`. A later one wins, and `variables` win over all.",
    }),
  ),
  backend_config: Type.Optional(
    MapOf(VariableName, TextValue, {
      maxProperties: backendSettingsLimit,
      description:
        "What the backend that the files declare leaves open (`terraform init -backend-config`): text, or `{value, sensitive}`. Terraform keeps these values in plan files. Text under a name that ends in token, secret, password, key or credentials is sensitive, except `key` itself.",
    }),
  ),
  parallelism: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 256,
      description: "How many resources terraform works on at once; 10 by default.",
    }),
  ),
  submodules: Type.Optional(
    about(Type.Boolean(), "Of a git source: fetch its submodules too; false by default."),
  ),
  timeout_seconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 7 * 24 * 3600, description: "3600 by default." }),
  ),
};

/** As a person writes them: null takes a choice back. */
const writtenFields = {
  ...snapshotFields,
  parallelism: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 256 }))),
  backend: Type.Optional(
    about(
      Nullable(Backend),
      "`managed`: keep the state here, also if the files declare a backend; `own`: in the backend that they declare; null or missing: in the one that they declare, or here if they declare none.",
    ),
  ),
};

/** What a runner needs to run a configuration, fixed when the job was created. Only `source` is certain. */
export const ConfigSnapshot = Type.Object({
  name: Type.Optional(Name),
  project_name: Type.Optional(Name),
  ...snapshotFields,
});
export type ConfigSnapshot = Static<typeof ConfigSnapshot>;

/** What the runner that holds the job gets: every value, the environment as plain text. */
export const ClaimedSnapshot = Type.Object({
  ...ConfigSnapshot.properties,
  environment: Type.Optional(MapOf(Type.String(), Type.String())),
  backend_config: Type.Optional(MapOf(Type.String(), Type.String())),
  sensitive_environment: Type.Optional(
    about(Type.Array(Type.String()), "The names in `environment` whose values no log may show."),
  ),
  sensitive_backend_config: Type.Optional(
    about(Type.Array(Type.String()), "The same of `backend_config`."),
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

/** One output of the last deployment; a sensitive one has no value. */
export const Component = Type.Object({
  name: Type.String(),
  type: Type.Unknown(),
  value: Type.Optional(Type.Unknown()),
  sensitive: Type.Boolean(),
});
export type Component = Static<typeof Component>;

export const Configuration = Type.Object({
  id: Uuid,
  name: Name,
  project_name: Name,
  zone_id: Uuid,
  cloud_identity_id: Nullable(Uuid),
  labels: Labels,
  ...snapshotFields,
  status: ConfigurationStatus,
  error_message: Nullable(ErrorMessage),
  cluster_name: Nullable(Type.String()),
  cluster_endpoint: Nullable(Type.String()),
  gitops_url: Nullable(Type.String()),
  components: Type.Array(Component),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Configuration = Static<typeof Configuration>;

export const CreateConfiguration = Type.Object(
  {
    name: Name,
    zone_id: Uuid,
    project_name: Type.Optional(Name),
    cloud_identity_id: Type.Optional(Nullable(Uuid)),
    labels: Type.Optional(Labels),
    ...writtenFields,
  },
  { additionalProperties: false },
);
export type CreateConfiguration = Static<typeof CreateConfiguration>;

/**
 * Only what is given changes; `variables` and `environment` are replaced whole. A variable without `value` keeps the one it has.
 */
export const UpdateConfiguration = Type.Object(
  {
    name: Type.Optional(Name),
    zone_id: Type.Optional(Uuid),
    project_name: Type.Optional(Name),
    cloud_identity_id: Type.Optional(Nullable(Uuid)),
    labels: Type.Optional(Labels),
    ...writtenFields,
    source: Type.Optional(Source),
  },
  { additionalProperties: false },
);
export type UpdateConfiguration = Static<typeof UpdateConfiguration>;

export const Zone = Type.Object({
  id: Uuid,
  name: Name,
  specs: Type.Array(Configuration),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Zone = Static<typeof Zone>;

export const CreateZone = Type.Object({ name: Name }, { additionalProperties: false });
export type CreateZone = Static<typeof CreateZone>;

export const Archive = Type.Object({ sha256: Sha256, size_bytes: Type.Integer() });
export type Archive = Static<typeof Archive>;
