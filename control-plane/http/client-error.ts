/** Input that is not HTTP, or does not arrive, gets a problem document like every other error. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { problemText } from "./problem.ts";
import { RefusalError } from "../domain/refusal.ts";
import { requestId } from "./request-id.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import { problemCodes } from "../../protocol/problem.ts";

const codes: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/** Responds on a connection on which Node found no request, and closes it. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  const code = codes[error.code ?? ""] ?? "bad_request";
  // After the beginning of a response, a second one would be read as a part of it.
  const { _httpMessage: begun } = socket as { _httpMessage?: ServerResponse | null };
  if (socket.writable && error.code !== "ECONNRESET" && !begun?.headersSent) {
    const [status, title] = problemCodes[code];
    const id = requestId(undefined);
    const text = problemText(code, id, title);
    socket.write(
      `HTTP/1.1 ${status} Refused\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\nx-request-id: ${id}\r\n` +
        `connection: close\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  }
  socket.destroySoon();
}

/** Node refuses a missing Host and unmet expectations without a problem document. */
export function refuseHeads(app: FastifyInstance): void {
  app.server.on("checkExpectation", (request, response) =>
    app.server.emit("request", request, response),
  );
  app.addHook("onRequest", ({ raw: { httpVersion, headers, rawHeaders } }, _, done) => {
    const { host, expect } = headers;
    // Both came with HTTP/1.1.
    if (httpVersion !== "1.1") done();
    else if (host === undefined)
      done(
        new RefusalError("bad_request", "the request has no Host header: HTTP/1.1 requires one"),
      );
    else if (hasTwoHosts(rawHeaders))
      done(new RefusalError("bad_request", "the request has more than one Host header"));
    else if (expect !== undefined && !/\b100-continue\b/i.test(expect))
      done(
        new RefusalError(
          "expectation_failed",
          "the header Expect may only be 100-continue: leave it out",
        ),
      );
    else done();
  });
}

/** A proxy may have used the other one (RFC 9112, 3.2); Node shows the first. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count > 1;
}
