import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** How long a client may continue to send, before its connection is closed. */
const lingerOf = ({ server }: FastifyRequest): number => Math.min(10_000, server.patience);

export const hasUnreadBody = ({ raw, headers }: FastifyRequest): boolean =>
  !raw.complete &&
  (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);

/**
 * Sends a complete response. If the body of the request is unread it stays so, and the connection
 * ends with this response.
 *
 * Lingering close: the response is sent at once, but the connection is closed only when the client
 * has stopped sending. Many clients write the whole body before they read the response, and closing
 * a connection with unread bytes discards the response (RFC 9112 §9.6).
 */
export function answerUnread(
  reply: FastifyReply,
  status: number,
  body: string,
  linger = lingerOf(reply.request),
): void {
  const { raw, request } = reply;
  if (!hasUnreadBody(request)) return void reply.code(status).send(body);
  reply.code(status).hijack();
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

/** For clients that got their response in another way; same time limit. */
export function cutUnreadBodies(app: FastifyInstance): void {
  app.addHook("onResponse", (request, _, done) => {
    done();
    const { raw } = request;
    if (!hasUnreadBody(request) || raw.socket.destroyed) return;
    const { socket } = raw;
    const timer = setTimeout(() => socket.destroy(), lingerOf(request));
    const stop = () => {
      clearTimeout(timer);
      raw.off("end", stop);
      socket.off("close", stop);
    };
    raw.once("end", stop);
    // After the response, "close" of the request is not emitted.
    socket.once("close", stop);
  });
}

declare module "fastify" {
  interface FastifyInstance {
    /** Milliseconds in which a client must send or read. */
    patience: number;
  }
}
