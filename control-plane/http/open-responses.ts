/** Answers that take long to send end with the credential that asked for them, and with a client that stops reading. */
import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { UserCaller, WorkerCaller } from "../services/callers.ts";
import type { Context } from "../services/context.ts";
import { watchRevocations } from "../services/people/revocations.ts";
import { kibibyte } from "../../common/units.ts";

/** The buffers of a connection take less than this at once. */
const smallLength = 16 * kibibyte;

/** Bounds every answer that is not sent at once. */
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

/**
 * Cuts a reader that has taken nothing, for so many milliseconds, of what waits for it. Not by the timeout of the socket: bytes that the
 * client sends would put that off for ever.
 */
export function cutStalled(raw: ServerResponse, patience: number): void {
  let before = sentTo(raw);
  const timer = setInterval(() => {
    const now = sentTo(raw);
    if (raw.writableLength > 0 && now === before) raw.destroy();
    before = now;
  }, patience).unref();
  raw.once("close", () => clearInterval(timer));
}

/** Changes whenever the other side takes something. */
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
    /** Cuts the answer when the login or the worker's token that asked for it works no more. */
    endWithCaller(request: FastifyRequest, reply: FastifyReply): void;
  }
}
