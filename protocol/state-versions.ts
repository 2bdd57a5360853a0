/** What people do with managed state: see its versions, download one, go back to one, unlock. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, Name, NextCursor, Nullable, Paging, Timestamp, Uuid } from "./fields.ts";

/** One version; the serial is terraform's and grows. */
export const StateVersion = Type.Object({
  serial: about(Type.Integer(), "Terraform's count of the state's changes."),
  lineage: about(Type.String(), "Terraform's name of one state's whole history."),
  size_bytes: Type.Integer(),
  md5: about(Type.String(), "In hex."),
  resources: about(Type.Integer(), "How many entries its `resources` has."),
  job_id: about(
    Nullable(Uuid),
    "The job that wrote it; null when a person went back to an older one.",
  ),
  created_at: Timestamp,
});
export type StateVersion = Static<typeof StateVersion>;

const path = "/api/cli/configurations/{name}/state";
const configuration = about(Name, "The configuration: its name, or its id.");
const params = Type.Object({ name: configuration });
const versionParams = Type.Object({
  name: configuration,
  serial: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "The serial of the version.",
    examples: [7],
  }),
});

export const stateVersionEndpoints = {
  listStateVersions: endpoint({
    method: "GET",
    path: `${path}/versions`,
    summary: "List the versions of a configuration's managed state, newest first",
    caller: "client",
    params,
    query: Type.Object({ ...Paging }),
    status: 200,
    answer: Type.Object({ state_versions: Type.Array(StateVersion), next_cursor: NextCursor }),
  }),
  downloadStateVersion: endpoint({
    method: "GET",
    path: `${path}/versions/{serial}`,
    summary: "Download one version of the state; it may hold secrets",
    caller: "client",
    params: versionParams,
    bytes: "response",
    status: 200,
    media: "application/json",
  }),
  rollBackState: endpoint({
    method: "POST",
    path: `${path}/versions/{serial}/rollback`,
    summary: "Store the content of an older version as the newest one",
    description: "The old content becomes a new version, its serial above the highest.",
    caller: "client",
    params: versionParams,
    status: 201,
    answer: StateVersion,
    refusals: ["state_conflict", "state_locked", "quota_exceeded"],
  }),
  breakStateLock: endpoint({
    method: "DELETE",
    path: `${path}/lock`,
    summary: "Unlock a state that a lost job left locked; waiting jobs go on",
    caller: "client",
    params,
    status: 204,
    refusals: ["configuration_busy"],
  }),
};
