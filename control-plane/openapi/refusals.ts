/** Which problems an endpoint may answer: what its parts bring by themselves, and what it declares. */
import type { Caller, Endpoint } from "../../protocol/endpoint.ts";
import { problemCodes, type ProblemCode } from "../../protocol/problem.ts";

/** Of the connection and of the server, whatever was asked. */
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

/** Callers whose credential may be a cookie, which a browser sends for other sites too. */
const browsers: ReadonlySet<Caller> = new Set(["session", "client", "registrant"]);

/** Every code that the endpoint may answer, without those of `anyEndpointRefuses` that it does not name itself. */
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
      ...(!isRead && browsers.has(caller) ? (["foreign_origin"] as const) : []),
      // Of people and workers it is the thing that is missing or not theirs; a job's own state is behind its credential.
      ...(params && caller !== "job" && caller !== "anyone" ? (["not_found"] as const) : []),
      // Where any type is taken, of a Content-Type that is none.
      ...(isRead ? [] : (["unsupported_media_type"] as const)),
      ...(body || bytes === "request" ? (["payload_too_large"] as const) : []),
      ...(endpoint.also?.[206] === undefined ? [] : (["range_not_satisfiable"] as const)),
      ...refusals,
    ]),
    // Of a status that answers something else (a page, a lock document) there is no problem document.
  ].filter((code) => endpoint.also?.[problemCodes[code][0]] === undefined);
}
