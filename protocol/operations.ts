/** Probes, metrics and the OpenAPI document. */
import { Type } from "typebox";
import { endpoint } from "./endpoint.ts";
import { JsonObject, OneOf } from "./fields.ts";

export const operationEndpoints = {
  readHealth: endpoint("GET /healthz", {
    summary: "Liveness probe: 200 while the process runs",
    caller: "anyone",
    answer: Type.Object({ status: OneOf(["ok"]) }),
  }),
  readReadiness: endpoint("GET /readyz", {
    summary: "Readiness probe: 503 while the server cannot serve requests",
    description:
      "The server is not ready while it starts or stops, and while it cannot read its database. If only changes or files cannot be stored, it is ready, and `problems` says what is wrong.",
    caller: "anyone",
    answer: Type.Object({
      status: OneOf(["ready"]),
      problems: Type.Array(Type.String(), {
        description: "What keeps the server from storing rows or files; empty when nothing does.",
        examples: [["files: the server's disk is full"]],
      }),
    }),
    refusals: ["unavailable"],
  }),
  readMetrics: endpoint("GET /metrics", {
    summary: "Read metrics in the Prometheus format",
    description: "The metrics contain no names of users or resources.",
    caller: "anyone",
    bytes: "response",
    media: "text/plain",
  }),
  readOpenapi: endpoint("GET /openapi.json", {
    summary: "Read this document",
    caller: "anyone",
    answer: JsonObject,
  }),
};
