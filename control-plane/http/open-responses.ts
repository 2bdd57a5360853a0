import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { UserCaller, WorkerCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { watchRevocations } from "../services/people/revocations.ts";
import { ticking } from "../../common/every.ts";
import { kibibyte } from "../../common/units.ts";

/** The buffers of a connection accept less than this at once. */
const smallLength = 16 * kibibyte;

/** Watches every response that is not sent at once. */
export function boundOpenAnswers(app: FastifyInstance, context: Context): void {
  const revocations = watchRevocations(context);
  app.addHook("onClose", async () => revocations.close());
  app.decorate("endWithCaller", ({ caller }, { raw }) => {
    if (!isRevocable(caller) || raw.destroyed) return;
    const unwatch = revocations.watch(caller, () => raw.destroy());
    raw.once("close", unwatch);
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    done(null, payload);
    const isStream = typeof (payload as { pipe?: unknown } | null)?.pipe === "function";
    const { length = 0 } = (payload ?? {}) as { length?: number };
    if (isStream || length > smallLength) cutStalled(reply.raw, app.patience);
    if (isStream) app.endWithCaller(request, reply);
  });
}

/** Milliseconds without reading. Not the socket's timeout, which bytes from the client restart. */
export function cutStalled(raw: ServerResponse, patience: number): void {
  let before = sentTo(raw);
  const end = ticking(patience, () => {
    const now = sentTo(raw);
    if (raw.writableLength > 0 && now === before) raw.destroy();
    before = now;
  });
  raw.once("close", end);
}

/** Changes whenever the client reads something. */
function sentTo({ socket }: ServerResponse): string {
  const { _handle: handle } = (socket ?? {}) as { _handle?: { writeQueueSize: number } | null };
  const sent = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
  return `${sent} ${handle?.writeQueueSize ?? 0}`;
}

const isRevocable = (caller: unknown): caller is UserCaller | WorkerCaller =>
  typeof caller === "object" &&
  caller !== null &&
  ("login_id" in caller || "presented_hash" in caller);

declare module "fastify" {
  interface FastifyInstance {
    /** Ends the response when the login or the worker token of the request is no longer valid. */
    endWithCaller(request: FastifyRequest, reply: FastifyReply): void;
  }
}
