/** Releases and cloud-hosted runners: for automated pipelines. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Context } from "../services/context.ts";
import { publishRelease, registerCloudWorker } from "../services/releases/releases.ts";
import { route, type Guards } from "../http/route.ts";

export function releaseRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.publishRelease, guards, async ({ caller, body }) =>
    publishRelease(context, caller, body),
  );
  route(app, endpoints.registerCloudWorker, guards, async ({ caller, body }) =>
    registerCloudWorker(context, caller, body),
  );
}
