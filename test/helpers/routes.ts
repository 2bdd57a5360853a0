/** The routes of a server as it registers them, so that tests can ask about every one that there is. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import type { Endpoint } from "../../protocol/endpoint.ts";

export interface ServedRoute {
  readonly method: string;
  /** With `:name` parts. */
  readonly url: string;
  /** Absent: a page, or one of the server's own. */
  readonly endpoint: Endpoint | undefined;
}

/** Runs `start`, which starts a server, and answers what it answered with the routes (HEAD is GET without a body). */
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
