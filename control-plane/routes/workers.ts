/** Workers: what runners call about themselves, and what people do with them. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import { registrantGuard } from "../auth/registrant.ts";
import type { Context } from "../services/context.ts";
import { heartbeat } from "../services/heartbeats.ts";
import {
  createRegistrationToken,
  deleteWorker,
  getWorker,
  listWorkers,
  readWorker,
  registerWorker,
  rotateToken,
  setDraining,
  updateMetadata,
} from "../services/workers.ts";
import { goneSignal } from "./gone.ts";
import type { Guards } from "./guards.ts";
import { sendList } from "./list.ts";
import { bodilessRoutes, route } from "./route.ts";

/** Adds the routes of this file. */
export function workerRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  runnerRoutes(app, context, guards);
  route(app, endpoints.listWorkers, guards.client, async ({ caller, query, reply }) =>
    sendList(reply, "workers", query, (before, limit) =>
      listWorkers(context, caller, before, limit),
    ),
  );
  route(app, endpoints.createWorker, guards.client, async ({ caller, body }) =>
    registerWorker(context, { kind: "user", user: caller }, body),
  );
  route(app, endpoints.getWorker, guards.client, async ({ caller, params }) =>
    getWorker(context, caller, params.id),
  );
  route(app, endpoints.createRegistrationToken, guards.client, async ({ caller, body }) =>
    createRegistrationToken(context, caller, body),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.drainWorker, guards.client, async ({ caller, params }) =>
      setDraining(context, caller, params.id, true),
    );
    route(bodiless, endpoints.undrainWorker, guards.client, async ({ caller, params }) =>
      setDraining(context, caller, params.id, false),
    );
    route(bodiless, endpoints.rotateWorkerToken, guards.client, async ({ caller, params }) =>
      rotateToken(context, caller, params.id),
    );
    route(bodiless, endpoints.deleteWorker, guards.client, async ({ caller, params }) => {
      await deleteWorker(context, caller, params.id);
      return undefined;
    });
  });
}

function runnerRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.registerWorker, registrantGuard(context, guards), async ({ caller, body }) =>
    registerWorker(context, caller, body),
  );
  route(
    app,
    endpoints.heartbeat,
    guards.worker,
    async ({ caller, body, query, reply }) =>
      heartbeat(context, {
        worker: caller,
        body,
        waitMilliseconds: (query.wait ?? 0) * 1000,
        gone: () => goneSignal(reply),
      }),
    { quiet: true },
  );
  route(app, endpoints.readWorker, guards.worker, async ({ caller, params }) =>
    readWorker(context, caller, params.id),
  );
  route(app, endpoints.updateWorkerMetadata, guards.worker, async ({ caller, params, body }) =>
    updateMetadata(context, caller, params.id, body),
  );
}
