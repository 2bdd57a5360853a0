/** Workers: what runners call about themselves, and what people do with them. */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../protocol/endpoints.ts";
import type { Context } from "../services/context.ts";
import { heartbeat } from "../services/workers/heartbeats.ts";
import { writeWhole } from "../services/json-text.ts";
import {
  createRegistrationToken,
  listRegistrationTokens,
  revokeRegistrationToken,
  type ListedToken,
} from "../services/workers/registration-tokens.ts";
import {
  deleteWorker,
  findWorker,
  getWorker,
  listWorkerIds,
  readWorker,
  registerWorker,
  rotateToken,
  setDraining,
  updateMetadata,
} from "../services/workers/workers.ts";
import { updateWorker } from "../services/workers/updates.ts";
import { proveWorker } from "../services/workers/credentials.ts";
import { goneSignal } from "../http/gone.ts";
import { sendListById, sendListOf } from "../http/list.ts";
import { bodilessRoutes, route, type Guards } from "../http/route.ts";

export function workerRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  runnerRoutes(app, context, guards);
  route(app, endpoints.listWorkers, guards, async ({ caller, query, reply }) =>
    sendListById(
      reply,
      "workers",
      query,
      (before, limit) => listWorkerIds(context, caller, before, limit),
      (id) => writeWhole(findWorker(context, caller, id)),
    ),
  );
  route(app, endpoints.createWorker, guards, async ({ caller, body }) =>
    registerWorker(context, { kind: "user", user: caller }, body),
  );
  route(app, endpoints.getWorker, guards, async ({ caller, params }) =>
    getWorker(context, caller, params.id),
  );
  route(app, endpoints.updateWorker, guards, async ({ caller, params, body }) =>
    updateWorker(context, caller, params.id, body),
  );
  route(app, endpoints.createRegistrationToken, guards, async ({ caller, body }) =>
    createRegistrationToken(context, caller, body),
  );
  route(app, endpoints.listRegistrationTokens, guards, async ({ caller, query, reply }) =>
    sendListOf(reply, "registration_tokens", query, {
      read: (before, limit) => listRegistrationTokens(context, caller, before, limit),
      cursorOf: ({ cursor }: ListedToken) => cursor,
      write: ({ shown }) => writeWhole(shown),
    }),
  );
  route(app, endpoints.rotateWorkerToken, guards, async ({ caller, params, body }) =>
    rotateToken(context, caller, params.id, body?.overlap_seconds),
  );
  bodilessRoutes(app, (bodiless) => {
    route(bodiless, endpoints.drainWorker, guards, async ({ caller, params }) =>
      setDraining(context, caller, params.id, true),
    );
    route(bodiless, endpoints.undrainWorker, guards, async ({ caller, params }) =>
      setDraining(context, caller, params.id, false),
    );
    route(bodiless, endpoints.revokeRegistrationToken, guards, async ({ caller, params }) => {
      await revokeRegistrationToken(context, caller, params.id);
      return undefined;
    });
    route(bodiless, endpoints.deleteWorker, guards, async ({ caller, params }) => {
      await deleteWorker(context, caller, params.id);
      return undefined;
    });
  });
}

function runnerRoutes(app: FastifyInstance, context: Context, guards: Guards): void {
  route(app, endpoints.registerWorker, guards, async ({ caller, body }) =>
    registerWorker(context, caller, body),
  );
  route(app, endpoints.proveWorker, guards, async ({ body }) => proveWorker(context, body));
  route(
    app,
    endpoints.heartbeat,
    guards,
    async ({ caller, body, query, reply }) =>
      heartbeat(context, {
        worker: caller,
        body,
        waitMilliseconds: (query.wait ?? 0) * 1000,
        gone: () => goneSignal(reply),
      }),
    { quiet: true },
  );
  route(app, endpoints.readWorker, guards, async ({ caller, params }) =>
    readWorker(context, caller, params.id),
  );
  route(app, endpoints.updateWorkerMetadata, guards, async ({ caller, params, body }) =>
    updateMetadata(context, caller, params.id, body),
  );
}
