/** An HTTP proxy in front of a control plane: a test sees every call that passes, and may hold it or lose it on either way. */
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ProxiedCall {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Of a status report; empty for all others, which are streamed. */
  readonly body: string;
}

/** False: the connection is cut instead. A promise holds the call. */
export type Verdict = boolean | Promise<boolean>;

export interface FaultProxy {
  readonly url: string;
  /** Asked before the server sees the call. */
  onRequest: (call: ProxiedCall) => Verdict;
  /** Asked when the server has carried it out, before the answer goes back. */
  onAnswer: (call: ProxiedCall, status: number) => Verdict;
  close(): Promise<void>;
}

/** Starts one in front of `target`, such as `http://127.0.0.1:8080`; as long as nothing is set, everything passes. */
export async function faultProxy(target: string): Promise<FaultProxy> {
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => incoming.socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onRequest: () => true,
    onAnswer: () => true,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = incoming;
    const path = url.split("?")[0] ?? "";
    const isReport = path.endsWith("/status");
    const call = { method, path, body: isReport ? await text(incoming) : "" };
    if (!(await proxy.onRequest(call))) return void incoming.socket.destroy();
    const forwarded = request(target + url, { method, headers });
    // Who does not wait any more, parks nothing at the server either.
    outgoing.once("close", () => forwarded.destroy());
    const answered = once(forwarded, "response");
    if (isReport) forwarded.end(call.body);
    else incoming.pipe(forwarded);
    const [answer] = (await answered) as [IncomingMessage];
    if (!(await proxy.onAnswer(call, answer.statusCode ?? 0))) {
      answer.resume().once("end", () => incoming.socket.destroy());
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  }
  return proxy;
}
