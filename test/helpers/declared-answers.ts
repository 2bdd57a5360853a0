/** Watches every control plane of this process: what it answers must be what the endpoint declares, and so the OpenAPI document says. */
import { subscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import { anyEndpointRefuses, refusalsOf } from "../../control-plane/openapi/refusals.ts";
import type { Endpoint } from "../../protocol/endpoint.ts";
import { problemCodes, type ProblemCode } from "../../protocol/problem.ts";

const undeclared = new Set<string>();

/** What was answered undeclared since the last time this was asked: `POST /api/jobs: 409 plan_is_stale`. */
export function undeclaredAnswers(): string[] {
  const found = [...undeclared];
  undeclared.clear();
  return found;
}

subscribe("fastify.initialization", (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook("onSend", (request, reply, payload, done) => {
    const isProblem = String(reply.getHeader("content-type")).startsWith("application/problem");
    const { code } = (isProblem ? JSON.parse(String(payload)) : {}) as { code?: ProblemCode };
    judge(request.routeOptions.config.endpoint, reply.statusCode, code);
    done();
  });
  // Of an answer that did not pass there (a refused body, a stream) at least the status.
  fastify.addHook("onResponse", ({ routeOptions }, { statusCode }, done) => {
    if (statusCode === 413) judge(routeOptions.config.endpoint, statusCode, "payload_too_large");
    done();
  });
});

function judge(endpoint: Endpoint | undefined, status: number, code?: ProblemCode): void {
  if (!endpoint) return;
  const isDeclared =
    code === undefined
      ? status === endpoint.status || endpoint.also?.[status] !== undefined
      : problemCodes[code][0] === status &&
        [...refusalsOf(endpoint), ...anyEndpointRefuses].includes(code);
  if (!isDeclared) undeclared.add(`${endpoint.method} ${endpoint.path}: ${status} ${code ?? ""}`);
}
