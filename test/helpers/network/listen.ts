/** Servers of tests on free ports of the loopback. */
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";

export interface Listening extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:port`. */
  readonly url: string;
}

/** Listens on a free port. Disposing closes the server and its HTTP connections. */
export async function listen(server: Server | HttpServer): Promise<Listening> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      if ("closeAllConnections" in server) server.closeAllConnections();
    },
  };
}
