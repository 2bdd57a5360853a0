/** Bounds connections without a credential yet, so that only unknown callers are cut. */
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { networkOf } from "../services/refusal-limit.ts";

/** A restart brings all runners at once: those of ten thousand, as their heads are read. */
export const pendingLimit = 4000;

/** Closes, beyond the limit, the oldest of the network that has most of them. */
export function boundPendingConnections(app: FastifyInstance, limit = pendingLimit): void {
  /** By network, the oldest first. */
  const networks = new Map<string, Set<Socket>>();
  const networkBySocket = new Map<Socket, string>();

  const forget = (socket: Socket): void => {
    const network = networkBySocket.get(socket);
    if (network === undefined) return;
    networkBySocket.delete(socket);
    const sockets = networks.get(network);
    sockets?.delete(socket);
    if (sockets?.size === 0) networks.delete(network);
  };

  app.server.on("connection", (socket) => {
    const network = networkOf(socket.remoteAddress ?? "");
    const sockets = networks.get(network) ?? new Set();
    networks.set(network, sockets.add(socket));
    networkBySocket.set(socket, network);
    socket.once("close", () => forget(socket));
    if (networkBySocket.size <= limit) return;
    let largest = sockets;
    for (const other of networks.values()) if (other.size > largest.size) largest = other;
    const [oldest] = largest;
    if (oldest === undefined) return;
    forget(oldest);
    oldest.destroy();
  });
  // The guards have run, the body is unread.
  app.addHook("preParsing", ({ caller, raw }, _, payload, done) => {
    if (caller !== null) forget(raw.socket);
    done(null, payload);
  });
}
