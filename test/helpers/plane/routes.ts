/** The routes that a server registers, so that tests can cover every one. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import type { Endpoint } from "../../../protocol/endpoint.ts";

export interface ServedRoute {
  readonly method: string;
  /** With `:name` parts. */
  readonly url: string;
  /** Undefined for a page or one of the server's own routes. */
  readonly endpoint: Endpoint | undefined;
}

/**
 * Runs `start`, which starts a server, and returns its result with the routes. HEAD routes are left
 * out.
 */
export async function withRoutes<T>(start: () => Promise<T>): Promise<[T, ServedRoute[]]> {
  const routes: ServedRoute[] = [];
  const onStart = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook("onRoute", ({ method, url, config }) => {
      for (const one of [method].flat())
        if (one !== "HEAD") routes.push({ method: one, url, endpoint: config?.endpoint });
    });
  };
  subscribe("fastify.initialization", onStart);
  try {
    return [await start(), routes];
  } finally {
    unsubscribe("fastify.initialization", onStart);
  }
}
