/** What people do with managed state: see its versions, download one, go back to one, unlock. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { Name, NextCursor, Nullable, Paging, Timestamp, Uuid } from "./fields.ts";

/** One version; the serial is terraform's and grows. */
export const StateVersion = Type.Object({
  serial: Type.Integer(),
  lineage: Type.String(),
  size_bytes: Type.Integer(),
  /** Hex. */
  md5: Type.String(),
  /** How many entries its `resources` has. */
  resources: Type.Integer(),
  /** The job that wrote it; null when a person went back to an older one. */
  job_id: Nullable(Uuid),
  created_at: Timestamp,
});
export type StateVersion = Static<typeof StateVersion>;

const path = "/api/cli/configurations/{name}/state";
const params = Type.Object({ name: Name });
const versionParams = Type.Object({
  name: Name,
  serial: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
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
  }),
  rollBackState: endpoint({
    method: "POST",
    path: `${path}/versions/{serial}/rollback`,
    summary: "Store the content of an older version as the newest one",
    caller: "client",
    params: versionParams,
    status: 201,
    answer: StateVersion,
  }),
  breakStateLock: endpoint({
    method: "DELETE",
    path: `${path}/lock`,
    summary: "Unlock a state that a lost job left locked; waiting jobs go on",
    caller: "client",
    params,
    status: 204,
  }),
};
