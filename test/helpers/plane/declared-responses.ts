/**
 * Checks the responses of every control plane of this process: each must be declared by its
 * endpoint, and so be in the OpenAPI document.
 */
import { subscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import { anyEndpointRefuses, refusalsOf } from "../../../control-plane/openapi/refusals.ts";
import type { Endpoint } from "../../../protocol/endpoint.ts";
import { problemCodes, type ProblemCode } from "../../../protocol/problem.ts";

const undeclared = new Set<string>();

/**
 * Returns the undeclared responses since the last call, such as `POST /api/jobs: 409
 * plan_is_stale`.
 */
export function undeclaredResponses(): string[] {
  const found = [...undeclared];
  undeclared.clear();
  return found;
}

subscribe("fastify.initialization", (message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook("onSend", (request, reply, payload, done) => {
    const isProblem = String(reply.getHeader("content-type")).startsWith("application/problem");
    const { code } = (isProblem ? JSON.parse(String(payload)) : {}) as { code?: ProblemCode };
    check(request.routeOptions.config.endpoint, reply.statusCode, code);
    done();
  });
  // A response that does not pass that hook (a refused body, a stream) has at least a status.
  fastify.addHook("onResponse", ({ routeOptions }, { statusCode }, done) => {
    if (statusCode === 413) check(routeOptions.config.endpoint, statusCode, "payload_too_large");
    done();
  });
});

function check(endpoint: Endpoint | undefined, status: number, code?: ProblemCode): void {
  if (!endpoint) return;
  const isDeclared =
    code === undefined
      ? status === endpoint.status || endpoint.also?.[status] !== undefined
      : problemCodes[code][0] === status &&
        [...refusalsOf(endpoint), ...anyEndpointRefuses].includes(code);
  if (!isDeclared) undeclared.add(`${endpoint.method} ${endpoint.path}: ${status} ${code ?? ""}`);
}
