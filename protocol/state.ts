/** Managed state, called by terraform's own `http` backend, not by the agent. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, Uuid } from "./fields.ts";
import { lockLimit, stateLimit } from "./limits.ts";

/** The lock document of terraform, stored and returned unchanged. */
export const StateLock = Type.Object({ ID: Type.String({ minLength: 1, maxLength: 200 }) });
export type StateLock = Static<typeof StateLock>;

const params = { spec_id: about(Uuid, "The configuration of the job.") };

export const stateEndpoints = {
  readState: endpoint("GET /api/state/{spec_id}", {
    summary: "Read the newest state; 204 if there is none",
    caller: "job",
    params,
    bytes: "response",
    media: "application/json",
    also: { 204: "There is no state yet." },
  }),
  writeState: endpoint("POST /api/state/{spec_id}", {
    summary: "Store a new state under the lock `ID`",
    description: "Terraform's JSON, at most 64 MiB. Storing the same state again succeeds.",
    caller: "job",
    params,
    query: {
      ID: Type.Optional(
        Type.String({
          maxLength: 200,
          description: "The `ID` of the lock that the job holds; terraform adds it.",
          examples: ["b2f6d3a1-6c1e-4f0a-9d8b-7e6f5a4b3c2d"],
        }),
      ),
    },
    bytes: "request",
    bodyLimit: stateLimit,
    media: "application/json",
    refusals: ["state_conflict"],
  }),
  lockState: endpoint("LOCK /api/state/{spec_id}", {
    summary: "Lock the state; repeating the ID of the holder succeeds",
    caller: "job",
    params,
    bytes: "request",
    bodyLimit: lockLimit,
    media: "application/json",
    also: { 423: "Another holder has the lock; the body is its lock document." },
    refusals: ["malformed_json"],
  }),
  unlockState: endpoint("UNLOCK /api/state/{spec_id}", {
    summary: "Unlock the state; an empty body is refused",
    caller: "job",
    params,
    bytes: "request",
    bodyLimit: lockLimit,
    media: "application/json",
    also: { 423: "Another holder has the lock; the body is its lock document." },
    refusals: ["malformed_json"],
  }),
};
