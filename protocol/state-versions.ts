/** Versions of managed state: list, download, push, roll back, unlock. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, Name, NextCursor, Nullable, Paging, Timestamp, Uuid } from "./fields.ts";
import { stateLimit } from "./limits.ts";

export const StateVersion = Type.Object({
  serial: about(Type.Integer(), "Terraform's version number of the state; it increases."),
  lineage: about(Type.String(), "Terraform's id of the state's whole history."),
  size_bytes: Type.Integer(),
  md5: about(Type.String(), "In hex."),
  resources: about(
    Nullable(Type.Integer()),
    "The number of resources that it records: each instance of a `count` or `for_each` as one, without data sources. Versions that an older server stored count those instances together. Null if the server cannot read it, because OpenTofu has encrypted it or it has an old format.",
  ),
  job_id: about(
    Nullable(Uuid),
    "The job that wrote it; null if a user did, by a rollback or a push.",
  ),
  stored_by: Type.Optional(
    about(
      Nullable(Type.String()),
      "In lists: the name of the user who stored it, as in the audit log; null if a job did, or if this is not known.",
    ),
  ),
  copy_of: Type.Optional(
    about(
      Nullable(Type.Integer()),
      "In lists: the serial of the version to which a user rolled back.",
    ),
  ),
  created_at: Timestamp,
});
export type StateVersion = Static<typeof StateVersion>;

export const StateLock = Type.Object({
  job_id: Uuid,
  created_at: Timestamp,
  held: about(
    Type.Boolean(),
    "Whether a runner still holds the job: then cancel the job instead of unlocking the state.",
  ),
  state_unsaved: Type.Optional(
    about(
      Type.Boolean(),
      "Whether the job has changed resources and could not save its state. Storing that state removes the lock; if the state is kept elsewhere, a user does.",
    ),
  ),
});
export type StateLock = Static<typeof StateLock>;

const configuration = about(Name, "The name or id of the configuration.");
const params = { name: configuration };
const versionParams = {
  name: configuration,
  serial: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "The serial of the version.",
    examples: [7],
  }),
};

export const stateVersionEndpoints = {
  listStateVersions: endpoint("GET /api/cli/configurations/{name}/state/versions", {
    summary: "List the versions of a configuration's managed state, newest first",
    permission: "read",
    inZones: true,
    params,
    query: Paging,
    answer: Type.Object({ state_versions: Type.Array(StateVersion), next_cursor: NextCursor }),
  }),
  downloadStateVersion: endpoint("GET /api/cli/configurations/{name}/state/versions/{serial}", {
    summary: "Download one version of the state; it may contain secrets",
    permission: "deploy",
    inZones: true,
    params: versionParams,
    bytes: "response",
    media: "application/json",
  }),
  pushState: endpoint("POST /api/cli/configurations/{name}/state/versions", {
    summary: "Store a terraform state as the newest version, such as one from another backend",
    description:
      "Terraform's JSON, at most 64 MiB. Refused while the state is locked, except by a job that could not save its state, and unless it has the lineage of the stored state and a higher serial. With `force`, a state of any lineage and serial is stored, with the serial after the highest.",
    permission: "deploy",
    inZones: true,
    params,
    query: {
      force: Type.Optional(
        about(Type.Boolean(), "Replace the stored state whatever its lineage and serial."),
      ),
    },
    bytes: "request",
    bodyLimit: stateLimit,
    media: "application/json",
    status: 201,
    answer: StateVersion,
    also: { 200: "It is the newest version already." },
    refusals: ["state_conflict", "state_locked", "quota_exceeded"],
  }),
  rollBackState: endpoint("POST /api/cli/configurations/{name}/state/versions/{serial}/rollback", {
    summary: "Store the content of an older version as the newest one",
    description: "The old content becomes a new version with the next serial.",
    permission: "deploy",
    inZones: true,
    params: versionParams,
    status: 201,
    answer: StateVersion,
    refusals: ["state_conflict", "state_locked", "quota_exceeded", "too_many_requests"],
  }),
  getStateLock: endpoint("GET /api/cli/configurations/{name}/state/lock", {
    summary: "Show which job locks the state; null if it is not locked",
    permission: "read",
    inZones: true,
    params,
    answer: Type.Object({ state_lock: Nullable(StateLock) }),
  }),
  breakStateLock: endpoint("DELETE /api/cli/configurations/{name}/state/lock", {
    summary: "Unlock a state that a lost job left locked; waiting jobs continue",
    permission: "deploy",
    inZones: true,
    params,
    refusals: ["configuration_busy"],
  }),
};
