/** An HTTP proxy that loses responses or requests on demand. */
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface LossyProxy {
  readonly url: string;
  /** The methods of all requests so far, such as `LOCK`. */
  readonly seen: string[];
  /** Carries out the next request of this method and loses its response with the connection. */
  loseAnswer(method: string): void;
  /** Loses the next request of this method with the connection before the server gets it. */
  loseRequest(method: string): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of `target`, such as `http://127.0.0.1:8080`. */
export async function lossyProxy(target: string): Promise<LossyProxy> {
  const answers: string[] = [];
  const requests: string[] = [];
  const seen: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const method = incoming.method ?? "";
    seen.push(method);
    if (take(requests, method)) return void incoming.socket.destroy();
    const forwarded = request(
      target + incoming.url,
      { method, headers: incoming.headers },
      (answer: IncomingMessage) => {
        if (take(answers, method)) {
          answer.resume().once("end", () => incoming.socket.destroy());
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    forwarded.once("error", () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    loseAnswer: (method) => void answers.push(method),
    loseRequest: (method) => void requests.push(method),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function take(from: string[], method: string): boolean {
  const at = from.indexOf(method);
  if (at !== -1) from.splice(at, 1);
  return at !== -1;
}
