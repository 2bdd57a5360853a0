/** An HTTP proxy in front of an object store that fails as a real one does. */
import { once } from "node:events";
import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/**
 * `error`: responds 500 without asking the store. `cut`: ends the connection within the body of the
 * response. `lose`: the store carries out the request, and the response is lost. `hang`: never
 * responds. `slow`: responds after half a second. The others lie, with a status of success:
 * `garble`: one byte of the body is another. `short`, `empty`: a half or nothing of the body, as if
 * that were all. `checksum`: names another checksum than that of the content. `etag`: names another
 * ETag. `rot`: stores another byte than it was sent. `drop`: completes an upload without its
 * last part.
 */
export type S3Fault = "error" | "cut" | "lose" | "hang" | "slow" | S3Lie;
export type S3Lie = "garble" | "short" | "empty" | "checksum" | "etag" | "rot" | "drop";

export interface S3FaultProxy extends AsyncDisposable {
  readonly url: string;
  /** Decides what happens to a request; undefined: nothing. */
  fault: (call: { readonly method: string; readonly url: string }) => S3Fault | undefined;
  /** The methods and addresses of all requests. */
  readonly seen: string[];
}

/** Starts a proxy in front of `target`, such as `http://127.0.0.1:8080`. */
export async function s3FaultProxy(target: string): Promise<S3FaultProxy> {
  const server = createServer((incoming, outgoing) => {
    const { method = "", url = "", headers } = incoming;
    proxy.seen.push(`${method} ${url}`);
    const fault = proxy.fault({ method, url });
    if (fault === "hang") return;
    if (fault === "error") {
      incoming.resume();
      const xml = "<Error><Code>InternalError</Code><Message>planted</Message></Error>";
      outgoing.writeHead(500, { "content-type": "application/xml" }).end(xml);
      return;
    }
    const forward = (answer: IncomingMessage) => {
      if (fault === "lose") {
        answer.resume().once("end", () => incoming.socket.destroy());
        return;
      }
      if (fault && fault in lies) {
        void tell(fault as S3Lie, answer, outgoing);
        return;
      }
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      if (fault !== "cut") return void answer.pipe(outgoing);
      answer.once("data", (bytes: Buffer) =>
        outgoing.write(bytes.subarray(0, bytes.length >> 1), () => incoming.socket.destroy()),
      );
    };
    const send = (sent: IncomingHttpHeaders) =>
      request(target + url, { method, headers: sent }, forward).once("error", () =>
        outgoing.destroy(),
      );
    if (fault === "rot" || fault === "drop") {
      const change = fault === "rot" ? lies.garble : withoutLastPart;
      const { expect: _, ...rest } = headers;
      void incoming.toArray().then((parts) => {
        const body = change(Buffer.concat(parts));
        send({ ...rest, "content-length": String(body.length) }).end(body);
      });
    } else if (fault === "slow") setTimeout(() => incoming.pipe(send(headers)), 500);
    else incoming.pipe(send(headers));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: S3FaultProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fault: () => undefined,
    seen: [],
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return proxy;
}

const lies: Readonly<Record<S3Lie, (body: Buffer) => Buffer>> = {
  garble: (body) => {
    const middle = body.length >> 1;
    if (body.length > 0) body[middle]! ^= 1;
    return body;
  },
  short: (body) => body.subarray(0, (body.length + 1) >> 1),
  empty: () => Buffer.alloc(0),
  checksum: (body) => body,
  etag: (body) =>
    Buffer.from(body.toString().replace(/(&quot;|")[0-9a-f]{32}/, `$1${"0".repeat(32)}`)),
  rot: (body) => body,
  drop: (body) => body,
};

const withoutLastPart = (body: Buffer): Buffer =>
  Buffer.from(body.toString().replace(/<Part>(?!.*<Part>).*<\/Part>/s, ""));

/** Passes a response on with a lie in it. */
async function tell(lie: S3Lie, answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = lies[lie](Buffer.concat(await answer.toArray()));
  const headers: OutgoingHttpHeaders = { ...answer.headers, "content-length": body.length };
  delete headers["transfer-encoding"];
  if (lie === "checksum") headers["x-amz-checksum-sha256"] = Buffer.alloc(32).toString("base64");
  if (lie === "etag") headers.etag = `"${"0".repeat(32)}"`;
  outgoing.writeHead(answer.statusCode ?? 502, headers).end(body);
}
