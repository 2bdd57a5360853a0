/** Answering a request whose body is refused unread. */
import type { FastifyReply } from "fastify";

/** A client that has not stopped sending by then loses its connection. */
const lingerMilliseconds = 10_000;

/**
 * Sends a whole answer at once, but closes the connection only when the body has been read past. Many clients write all of a body before
 * they look at the answer, and a connection that is closed over unread bytes takes the answer with it (RFC 9112 §9.6).
 */
export function answerUnread(
  reply: FastifyReply,
  status: number,
  body: string,
  linger = lingerMilliseconds,
): void {
  const { raw, request } = reply;
  reply.hijack();
  raw.writeHead(status, {
    ...(reply.getHeaders() as Record<string, string>),
    connection: "close",
    "content-length": Buffer.byteLength(body),
  });
  raw.write(body);
  const end = () => {
    clearTimeout(timer);
    raw.end();
  };
  const timer = setTimeout(end, linger);
  if (request.raw.readableEnded || request.raw.destroyed) end();
  else request.raw.once("close", end).once("end", end).resume();
}
