import type { ServerConfig } from "../config.ts";

/** Where the server of this machine listens. It listens there too if it listens on all addresses. */
export function localUrl({ host, port }: Pick<ServerConfig, "host" | "port">): string {
  const address = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
}
