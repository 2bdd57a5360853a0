/**
 * A plain TCP load balancer: each connection goes to the next address, or to the one after it if
 * that refuses. It knows no sessions, reads nothing of what it forwards and checks no health.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { listen } from "./listen.ts";

export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** Where connections go, such as `http://127.0.0.1:8080`. May be changed at any time. */
  targets: readonly string[];
  /** Cuts all connections. */
  cut(): void;
}

/** Starts a load balancer. Without targets it closes every connection. */
export async function startBalancer(targets: readonly string[] = []): Promise<Balancer> {
  let connections = 0;
  const open = new Set<Socket>();
  const kept = (socket: Socket): Socket => {
    open.add(socket);
    // The end of a connection ends the other half.
    return socket.on("error", () => undefined).once("close", () => open.delete(socket));
  };
  const server = createServer((client) => {
    kept(client);
    connections += 1;
    void forward(client, connections);
  });
  async function forward(client: Socket, first: number): Promise<void> {
    const { targets: all } = balancer;
    for (let n = 0; n < all.length; n += 1) {
      const { hostname, port } = new URL(all[(first + n) % all.length]!);
      const target = kept(connect(Number(port), hostname));
      const refused = once(target, "close").then(() => false);
      if (
        !(await Promise.race([once(target, "connect").then(() => true), refused]).catch(
          () => false,
        ))
      )
        continue;
      client.once("close", () => target.destroy());
      target.once("close", () => client.destroy());
      if (client.destroyed) target.destroy();
      client.pipe(target).pipe(client);
      return;
    }
    client.destroy();
  }
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  const { port, url, [Symbol.asyncDispose]: close } = await listen(server);
  const balancer: Balancer = {
    port,
    url,
    targets,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      await close();
    },
  };
  return balancer;
}
