/** A waiting request whose connection has closed must not take a job. */
import type { FastifyReply } from "fastify";

/** Returns a signal that is aborted when the connection closes before the response is written. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const disconnected = new AbortController();
  if (reply.raw.destroyed) disconnected.abort();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) disconnected.abort();
  });
  return disconnected.signal;
}
