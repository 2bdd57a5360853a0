/** How JSON bodies are read: UTF-8, well formed, not compressed, and whole within a time. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Refusal, sendProblem } from "./problem.ts";

/** Makes JSON the only body that is parsed; one that is still arriving after `patience` milliseconds is refused. */
export function readJsonBodies(app: FastifyInstance, patience: number): void {
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
      const late = () => sendProblem(new Refusal("request_timeout"), request, reply);
      const timer = setTimeout(late, patience);
      const stop = () => clearTimeout(timer);
      request.raw.once("end", stop).once("close", stop);
    }
    done(null, payload);
  });
}

/** Streams of bytes take the time that their size needs; the body of a GET is not read. */
const isArriving = ({ raw, method, headers, routeOptions }: FastifyRequest): boolean =>
  !raw.complete &&
  method !== "GET" &&
  (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0) &&
  routeOptions.config.endpoint?.bytes !== "request";

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
