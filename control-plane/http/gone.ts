/** Whether the caller is still there: a parked request whose connection closed must not take a job. */
import type { FastifyReply } from "fastify";

/** A signal that is aborted when the connection closes before the answer is written. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (reply.raw.destroyed) gone.abort();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
