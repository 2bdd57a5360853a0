/** What operators' tools ask: does it live, is it ready, how is it doing; and the document of the API itself. */
import { Type } from "typebox";
import { endpoint } from "./endpoint.ts";
import { JsonObject, OneOf } from "./fields.ts";

export const operationEndpoints = {
  readHealth: endpoint({
    method: "GET",
    path: "/healthz",
    summary: "Say whether the process lives",
    caller: "anyone",
    status: 200,
    answer: Type.Object({ status: OneOf(["ok"]) }),
  }),
  readReadiness: endpoint({
    method: "GET",
    path: "/readyz",
    summary: "Say whether it takes requests; 503 while it starts or stops",
    caller: "anyone",
    status: 200,
    answer: Type.Object({ status: OneOf(["ready"]) }),
    refusals: ["unavailable"],
  }),
  readMetrics: endpoint({
    method: "GET",
    path: "/metrics",
    summary: "Read the figures as Prometheus does",
    description: "The names of people and things are not in it.",
    caller: "anyone",
    bytes: "response",
    media: "text/plain",
    status: 200,
  }),
  readOpenapi: endpoint({
    method: "GET",
    path: "/openapi.json",
    summary: "Read this document",
    caller: "anyone",
    status: 200,
    answer: JsonObject,
  }),
};
