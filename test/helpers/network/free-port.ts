/** Ports for programs that need an address before they are started. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Returns a port on which no process listens at the moment. It is below those that Linux gives to
 * connections and to servers that ask for any port (net.ipv4.ip_local_port_range), so that none of
 * them takes it before the program does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
