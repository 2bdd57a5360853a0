/** Zones and configurations (specs): what people describe, and the snapshot of it that a runner gets. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  ErrorMessage,
  Labels,
  MapOf,
  Name,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  Sha256,
  Timestamp,
  Uuid,
} from "./fields.ts";

/** Inline files together: 1 MiB of text (decisions.md, config_snapshot). */
export const inlineFilesLimit = 1024 * 1024;
/** An uploaded archive: 50 MB, like a plan artifact. */
export const archiveLimit = 52_428_800;

/** A path below the configuration's folder: no way out of it, no empty or dot parts, no control characters. */
const RelativePath = Type.String({
  maxLength: 1024,
  pattern: "^(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f]+(/(?!\\.{1,2}(/|$))[^/\\u0000-\\u001f]+)*$",
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
      maxProperties: 1000,
    }),
  },
  { additionalProperties: false },
);
/** Where the terraform files come from. */
export const Source = Type.Union([GitSource, ArchiveSource, InlineSource]);
export type Source = Static<typeof Source>;

/** A terraform variable. `value` is any JSON; of a sensitive one it is shown only to the runner that holds the job. */
export const Variable = Type.Object(
  { value: Type.Optional(Type.Unknown()), sensitive: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);
export type Variable = Static<typeof Variable>;

export const Engine = OneOf(["terraform", "opentofu"]);
export type Engine = Static<typeof Engine>;

/** `managed`: the control plane keeps the state; `own`: the configuration's own backend block is used. */
export const Backend = OneOf(["managed", "own"]);

export const timeoutSecondsDefault = 3600;

const VariableName = "^[A-Za-z_][A-Za-z0-9_-]{0,254}$";
const EnvironmentName = "^[A-Za-z_][A-Za-z0-9_]{0,254}$";

const snapshotFields = {
  source: Source,
  engine: Type.Optional(Engine),
  engine_version: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 200 }))),
  working_directory: Type.Optional(Type.String({ maxLength: 1024 })),
  variables: Type.Optional(
    MapOf(Type.String({ pattern: VariableName }), Variable, { maxProperties: 1000 }),
  ),
  environment: Type.Optional(
    MapOf(Type.String({ pattern: EnvironmentName }), Type.String({ maxLength: 32_768 }), {
      maxProperties: 200,
    }),
  ),
  backend: Type.Optional(Backend),
  timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 7 * 24 * 3600 })),
};

/** What a runner needs to run a configuration, fixed when the job was created. Only `source` is certain. */
export const ConfigSnapshot = Type.Object({
  name: Type.Optional(Name),
  project_name: Type.Optional(Name),
  ...snapshotFields,
});
export type ConfigSnapshot = Static<typeof ConfigSnapshot>;

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
    ...snapshotFields,
  },
  { additionalProperties: false },
);
export type CreateConfiguration = Static<typeof CreateConfiguration>;

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

const zonePath = { params: Type.Object({ id: Uuid }) };

export const configurationEndpoints = {
  listZones: endpoint({
    method: "GET",
    path: "/api/cli/zones",
    summary: "List all zones with their configurations",
    caller: "client",
    query: Type.Object({ ...Paging }),
    status: 200,
    answer: Type.Object({ zones: Type.Array(Zone), next_cursor: NextCursor }),
  }),
  createZone: endpoint({
    method: "POST",
    path: "/api/cli/zones",
    summary: "Create a zone",
    caller: "client",
    body: CreateZone,
    status: 201,
    answer: Zone,
  }),
  getZone: endpoint({
    method: "GET",
    path: "/api/cli/zones/{id}",
    summary: "Read a zone with its configurations",
    caller: "client",
    ...zonePath,
    status: 200,
    answer: Zone,
  }),
  listConfigurations: endpoint({
    method: "GET",
    path: "/api/cli/configurations",
    summary: "List all configurations",
    caller: "client",
    query: Type.Object({ ...Paging }),
    status: 200,
    answer: Type.Object({ configurations: Type.Array(Configuration), next_cursor: NextCursor }),
  }),
  createConfiguration: endpoint({
    method: "POST",
    path: "/api/cli/configurations",
    summary: "Create a configuration",
    caller: "client",
    body: CreateConfiguration,
    bodyLimit: 4 * 1024 * 1024,
    status: 201,
    answer: Configuration,
  }),
  getConfiguration: endpoint({
    method: "GET",
    path: "/api/cli/configurations/{name}",
    summary: "Read a configuration by its name, or by its id",
    caller: "client",
    params: Type.Object({ name: Name }),
    status: 200,
    answer: Configuration,
  }),
  getConfigurationByProjectName: endpoint({
    method: "GET",
    path: "/api/cli/configurations/by-project-name/{project_name}",
    summary: "Read a configuration by its project name",
    caller: "client",
    params: Type.Object({ project_name: Name }),
    status: 200,
    answer: Configuration,
  }),
  uploadArchive: endpoint({
    method: "POST",
    path: "/api/cli/archives",
    summary: "Upload a .tar.gz of terraform files, to be named as a source by its SHA-256",
    caller: "client",
    bytes: "request",
    bodyLimit: archiveLimit,
    headers: Type.Object({ "content-digest": Type.Optional(Type.String({ maxLength: 500 })) }),
    status: 201,
    answer: Archive,
  }),
};
