import { disconnectSignal } from "../http/disconnect-signal.ts";
import { listById, listOf } from "../http/list.ts";
import type { Routes } from "../http/route.ts";
import type { Context } from "../services/context.ts";
import { writeWhole } from "../services/json-text.ts";
import { proveWorker } from "../services/workers/credentials.ts";
import { heartbeat } from "../services/workers/heartbeats.ts";
import {
  createRegistrationToken,
  listRegistrationTokens,
  revokeRegistrationToken,
  type ListedToken,
} from "../services/workers/registration-tokens.ts";
import { updateWorker } from "../services/workers/updates.ts";
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

export const workerRoutes = (context: Context) =>
  ({
    registerWorker: ({ caller, body }) => registerWorker(context, caller, body),
    proveWorker: ({ body }) => proveWorker(context, body),
    heartbeat: {
      quiet: true,
      handle: ({ caller, body, query, reply }) =>
        heartbeat(context, {
          worker: caller,
          body,
          waitMilliseconds: (query.wait ?? 0) * 1000,
          disconnected: () => disconnectSignal(reply),
        }),
    },
    readWorker: ({ caller, params }) => readWorker(context, caller, params.id),
    updateWorkerMetadata: ({ caller, params, body }) =>
      updateMetadata(context, caller, params.id, body),
    listWorkers: async ({ caller }) =>
      listById(
        (before, limit) => listWorkerIds(context, caller, before, limit),
        (id) => writeWhole(findWorker(context, caller, id)),
      ),
    createWorker: ({ caller, body }) =>
      registerWorker(context, { kind: "user", user: caller }, body),
    getWorker: ({ caller, params }) => getWorker(context, caller, params.id),
    updateWorker: ({ caller, params, body }) => updateWorker(context, caller, params.id, body),
    drainWorker: ({ caller, params }) => setDraining(context, caller, params.id, true),
    undrainWorker: ({ caller, params }) => setDraining(context, caller, params.id, false),
    rotateWorkerToken: ({ caller, params, body }) =>
      rotateToken(context, caller, params.id, body?.overlap_seconds),
    deleteWorker: ({ caller, params }) => deleteWorker(context, caller, params.id),
    createRegistrationToken: ({ caller, body }) => createRegistrationToken(context, caller, body),
    listRegistrationTokens: async ({ caller }) =>
      listOf({
        read: (before, limit) => listRegistrationTokens(context, caller, before, limit),
        cursorOf: ({ cursor }: ListedToken) => cursor,
        write: ({ shown }) => writeWhole(shown),
      }),
    revokeRegistrationToken: ({ caller, params }) =>
      revokeRegistrationToken(context, caller, params.id),
  }) satisfies Partial<Routes>;
