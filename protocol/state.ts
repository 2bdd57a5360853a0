/** Managed terraform state: terraform's own `http` backend (not our agent) speaks these. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { Uuid } from "./fields.ts";

/** Largest state: 64 MiB. Terraform posts it in one request. */
export const stateLimit = 64 * 1024 * 1024;

/** The lock document as terraform writes it; kept and given back word for word. */
export const StateLock = Type.Object({ ID: Type.String({ minLength: 1, maxLength: 200 }) });
export type StateLock = Static<typeof StateLock>;

const path = "/api/state/{spec_id}";
const params = Type.Object({ spec_id: Uuid });

export const stateEndpoints = {
  readState: endpoint({
    method: "GET",
    path,
    summary: "Read the newest state; 204 when there is none",
    caller: "job",
    params,
    bytes: "response",
    status: 200,
  }),
  writeState: endpoint({
    method: "POST",
    path,
    summary: "Store a new state under the lock `ID`",
    caller: "job",
    params,
    query: Type.Object({ ID: Type.Optional(Type.String({ maxLength: 200 })) }),
    bytes: "request",
    bodyLimit: stateLimit,
    status: 200,
  }),
  lockState: endpoint({
    method: "LOCK",
    path,
    summary: "Lock the state; the holder's own ID again is success",
    caller: "job",
    params,
    bytes: "request",
    bodyLimit: 64 * 1024,
    status: 200,
  }),
  unlockState: endpoint({
    method: "UNLOCK",
    path,
    summary: "Unlock the state; an empty body is refused",
    caller: "job",
    params,
    bytes: "request",
    bodyLimit: 64 * 1024,
    status: 200,
  }),
};
