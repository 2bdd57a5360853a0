/** Which problems an endpoint may return: those implied by its parts, and those it declares. */
import { actsInSpace, type Caller, type Endpoint } from "../../protocol/endpoint.ts";
import { problemCodes, type ProblemCode } from "../../protocol/problem.ts";

/** Problems of the connection and the server, possible for every request. */
export const anyEndpointRefuses: readonly ProblemCode[] = [
  "bad_request",
  "expectation_failed",
  "internal_error",
  "unreadable",
  "unavailable",
  "storage_unavailable",
];

const ofCaller: Readonly<Record<Caller, readonly ProblemCode[]>> = {
  anyone: [],
  session: ["unauthenticated"],
  client: ["unauthenticated"],
  worker: ["invalid_worker_token"],
  registrant: ["unauthenticated", "invalid_worker_token", "too_many_requests"],
  job: ["unauthenticated"],
  pipeline: ["unauthenticated", "too_many_requests"],
};

/** Callers that may use a cookie, which a browser also sends on behalf of other sites. */
const browsers: ReadonlySet<Caller> = new Set(["session", "client", "registrant"]);

/** Returns the codes of the endpoint, without those of `anyEndpointRefuses` it does not declare. */
export function refusalsOf(endpoint: Endpoint): readonly ProblemCode[] {
  const { method, caller, params, query, headers, body, bytes, refusals = [] } = endpoint;
  const isRead = method === "GET";
  return [
    ...new Set<ProblemCode>([
      ...(params || query || headers || body ? (["invalid_request"] as const) : []),
      ...(body ? (["malformed_json", "bad_request"] as const) : []),
      ...(query && "cursor" in query.properties ? (["invalid_cursor"] as const) : []),
      ...(bytes === "request" ? (["bad_request", "digest_mismatch"] as const) : []),
      ...ofCaller[caller],
      ...(endpoint.permission === undefined ? [] : (["permission_denied"] as const)),
      ...(actsInSpace(endpoint) ? (["team_not_found"] as const) : []),
      ...(!isRead && browsers.has(caller) ? (["foreign_origin"] as const) : []),
      // A resource may be missing or belong to another user. The credential of a job names its
      // state.
      ...(params && caller !== "job" && caller !== "anyone" ? (["not_found"] as const) : []),
      // An endpoint that accepts every type still refuses a malformed Content-Type.
      ...(isRead ? [] : (["unsupported_media_type"] as const)),
      ...(body || bytes === "request" ? (["payload_too_large"] as const) : []),
      ...(endpoint.also?.[206] === undefined ? [] : (["range_not_satisfiable"] as const)),
      ...refusals,
    ]),
    // A status with another body (a page, a lock document) has no problem document.
  ].filter((code) => endpoint.also?.[problemCodes[code][0]] === undefined);
}
