/**
 * A TCP proxy in front of PostgreSQL that loses the response to a commit, as a network may, or takes
 * nothing more, as a stopped process.
 */
import { connect, createServer, type Socket } from "node:net";
import { listen } from "../network/listen.ts";

export interface PostgresProxy extends AsyncDisposable {
  readonly port: number;
  /** Loses the response to the next commit of a transaction with this text in a statement. */
  loseCommitOf(text: string): void;
  /** How many responses were lost. */
  readonly lost: number;
  /** From now on takes nothing that PostgreSQL sends. */
  stop(): void;
}

/** Starts a proxy in front of the PostgreSQL at a port of the loopback. */
export async function postgresProxy(target: number): Promise<PostgresProxy> {
  const open = new Set<Socket>();
  let wanted: string | undefined;
  let lost = 0;
  let isStopped = false;
  const server = createServer((client) => {
    const backend = connect(target, "127.0.0.1");
    let hasText = false;
    let isLosing = false;
    client.on("data", (bytes) => {
      const sent = bytes.toString("latin1");
      if (sent.includes("begin;")) hasText = false;
      if (wanted !== undefined && sent.includes(wanted)) hasText = true;
      if (hasText && sent.includes("commit\0")) {
        isLosing = true;
        wanted = undefined;
      }
      backend.write(bytes);
    });
    backend.on("data", (bytes) => {
      if (isStopped) return void backend.pause();
      if (!isLosing) return void client.write(bytes);
      lost += 1;
      client.destroy();
    });
    for (const [socket, other] of [
      [client, backend],
      [backend, client],
    ] as const) {
      open.add(socket);
      socket
        .on("error", () => undefined)
        .once("close", () => {
          open.delete(socket);
          other.destroy();
        });
    }
  });
  const { port, [Symbol.asyncDispose]: close } = await listen(server);
  return {
    port,
    loseCommitOf: (text) => {
      wanted = text;
    },
    get lost() {
      return lost;
    },
    stop: () => {
      isStopped = true;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await close();
    },
  };
}
