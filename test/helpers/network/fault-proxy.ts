/**
 * An HTTP proxy in front of a control plane. A test sees every call and may hold it, or lose it on
 * its way there or back.
 */
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";

export interface ProxiedCall {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Empty except for status reports: all other calls are streamed. */
  readonly body: string;
}

/** A response of the proxy's own. */
export interface OwnResponse {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** False cuts the connection, a response takes the place of the server's, a promise holds the call. */
export type Verdict = boolean | OwnResponse | Promise<boolean | OwnResponse>;

export interface FaultProxy {
  readonly url: string;
  /** Called before the server gets the call. */
  onRequest: (call: ProxiedCall) => Verdict;
  /** Called after the server has responded, before the response is forwarded. */
  onAnswer: (call: ProxiedCall, status: number) => Verdict;
  close(): Promise<void>;
}

/**
 * Starts a proxy in front of `target`, such as `http://127.0.0.1:8080`. By default every call
 * passes.
 */
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
    const call = { method, path, body: isReport ? await textOf(incoming) : "" };
    const verdict = await proxy.onRequest(call);
    if (verdict === false) return void incoming.socket.destroy();
    if (verdict !== true) {
      incoming.resume();
      return respond(outgoing, verdict);
    }
    const forwarded = request(target + url, { method, headers });
    // A client that disconnects also ends its waiting call at the server.
    outgoing.once("close", () => forwarded.destroy());
    const answered = once(forwarded, "response");
    if (isReport) forwarded.end(call.body);
    else incoming.pipe(forwarded);
    const [answer] = (await answered) as [IncomingMessage];
    const passes = await proxy.onAnswer(call, answer.statusCode ?? 0);
    if (passes === false) {
      answer.resume().once("end", () => incoming.socket.destroy());
      return;
    }
    if (passes !== true) {
      answer.resume();
      return respond(outgoing, passes);
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  }
  return proxy;
}

const respond = (outgoing: ServerResponse, { status, type, text }: OwnResponse): void =>
  void outgoing.writeHead(status, { "content-type": type }).end(text);
