/** What arrives at the HTTP servers of this process, as Node has parsed it. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { setTimeout as sleep } from "node:timers/promises";

export function recordRequests(): Disposable & { readonly requests: IncomingMessage[] } {
  const requests: IncomingMessage[] = [];
  const note = (message: unknown): void => {
    requests.push((message as { request: IncomingMessage }).request);
  };
  subscribe("http.server.request.start", note);
  return { requests, [Symbol.dispose]: () => void unsubscribe("http.server.request.start", note) };
}

/** Sends these bytes, and waits until the other end closes or is silent. */
export async function sendBytes(url: string, text: string, ca?: Buffer): Promise<string> {
  const { hostname, port, protocol } = new URL(url);
  const socket =
    protocol === "https:"
      ? connectTls({ host: hostname, port: Number(port), ca, ALPNProtocols: ["http/1.1"] })
      : connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (bytes: Buffer) => (answer += bytes.toString("latin1")));
  // It may be reset, which is a refusal too.
  socket.on("error", () => undefined);
  const closed = once(socket, "close");
  socket.write(Buffer.from(text, "latin1"));
  await Promise.race([closed, sleep(silence)]);
  socket.destroy();
  await closed;
  return answer;
}

/** Milliseconds. A smuggled request arrives with the bytes of the first. */
const silence = 300;
