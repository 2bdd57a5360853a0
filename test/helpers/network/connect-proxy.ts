/** What stands between a program and others in a closed network. */
import { createServer as createHttpServer, request } from "node:http";
import { createServer } from "node:https";
import { connect } from "node:net";
import type { Certificate } from "./certificate.ts";
import { listen, type Listening } from "./listen.ts";

export interface ConnectProxy extends Listening {
  /** The hosts and ports that were asked for. */
  readonly tunnels: string[];
}

/** Starts a proxy that makes tunnels, and resolves every name to the loopback. */
export async function startConnectProxy(): Promise<ConnectProxy> {
  const tunnels: string[] = [];
  const proxy = createHttpServer().on("connect", ({ url = "" }, socket, head: Buffer) => {
    tunnels.push(url);
    const upstream = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on("error", () => socket.destroy());
    socket.on("error", () => upstream.destroy());
  });
  return Object.assign(await listen(proxy), { tunnels });
}

/** Serves what is at an http address over TLS. */
export function serveTls(keys: Certificate["tls"], url: string): Promise<Listening> {
  const server = createServer(keys, (incoming, outgoing) => {
    const { method } = incoming;
    const headers = { ...incoming.headers, host: new URL(url).host };
    const forwarded = request(url + incoming.url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  return listen(server);
}
