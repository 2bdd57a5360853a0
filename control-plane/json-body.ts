/** How JSON bodies are read: UTF-8, well formed, not compressed, and whole within a time. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Refusal, sendProblem } from "./problem.ts";
import { hasUnreadBody } from "./unread-body.ts";

/** Makes JSON the only body that is parsed. Refuses one that is still arriving when the server's patience ends. */
export function readJsonBodies(app: FastifyInstance): void {
  // Fastify would also take plain text, which any site's form can send.
  app.removeContentTypeParser(["text/plain", "application/json"]);
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, bytes, done) => {
    try {
      done(null, parse(request, bytes as Buffer));
    } catch (error) {
      done(error instanceof Refusal ? error : new Refusal("malformed_json"));
    }
  });
  app.addHook("preParsing", (request, reply, payload, done) => {
    if (isArriving(request)) {
      const late = () => {
        // The body may be refused unread, or not be needed: then the answer has been sent.
        if (!reply.sent && !reply.raw.headersSent)
          sendProblem(new Refusal("request_timeout"), request, reply);
      };
      const timer = setTimeout(late, app.patience);
      const stop = () => clearTimeout(timer);
      request.raw.once("end", stop);
      // After the answer, or when the connection is lost.
      reply.raw.once("close", stop);
    }
    done(null, payload);
  });
}

/** Streams of bytes take the time that their size needs; the body of a GET, or of a route without one, is not read. */
const isArriving = (request: FastifyRequest): boolean => {
  const { endpoint } = request.routeOptions.config;
  const isRead = endpoint === undefined ? request.method !== "GET" : endpoint.body !== undefined;
  return isRead && hasUnreadBody(request);
};

function parse({ headers, routeOptions }: FastifyRequest, bytes: Buffer): unknown {
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "identity")
    throw new Refusal(
      "unsupported_media_type",
      "send the body without a content coding",
      {},
      { "accept-encoding": "identity" },
    );
  if (!isUtf8(bytes)) throw new Refusal("malformed_json", "the body is not UTF-8");
  // A person gets back what was written or a refusal; of a runner no report is lost over half a character.
  return parseText(bytes.toString(), isOfPerson(routeOptions));
}

/** Reads JSON that can be kept: not too deep and, if it `isExact`, without half characters. Throws `malformed_json`, or a SyntaxError. */
export function parseText(text: string, isExact: boolean): unknown {
  // Fastify's parser also searches for __proto__; here nothing is merged by assignment, so that is a name like any other.
  const value: unknown = JSON.parse(text);
  if (text.length > jsonLevels && isDeeper(value, jsonLevels))
    throw new Refusal(
      "malformed_json",
      `lists and maps are nested in more than ${jsonLevels} levels`,
    );
  if (isExact && /\\u[dD][89a-fA-F]/.test(text)) JSON.parse(text, wellFormed);
  return value;
}

/** SQLite reads 1000; what a body holds is kept inside of other JSON. */
export const jsonLevels = 500;

const isDeeper = (value: unknown, than: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (than === 0 || Object.values(value).some((inner) => isDeeper(inner, than - 1)));

/** Bodies that a person writes are those that take no unknown fields (decisions.md). */
const isOfPerson = ({ schema }: FastifyRequest["routeOptions"]): boolean =>
  (schema?.body as { additionalProperties?: unknown } | undefined)?.additionalProperties === false;

function wellFormed(name: string, value: unknown): unknown {
  if (!name.isWellFormed() || (typeof value === "string" && !value.isWellFormed()))
    throw new Refusal("malformed_json", "half a surrogate pair is no text");
  return value;
}
