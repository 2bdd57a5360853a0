/** Reads JSON bodies: UTF-8, well formed, not compressed, complete within a time and within memory. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findExcess, withoutParts } from "../domain/json-shape.ts";
import { arrivingBodies, jsonLimits, type Arriving } from "./arriving-bodies.ts";
import { sendProblem } from "./problem.ts";
import { routeOf } from "./route-of.ts";
import { RefusalError } from "../domain/refusal.ts";
import { hasUnreadBody } from "./unread-body.ts";

/**
 * Makes JSON the only body that is parsed. Refuses a body that is still arriving when the time is
 * up, or when the bodies that are arriving take too much memory.
 */
export function readJsonBodies(app: FastifyInstance): void {
  const begin = arrivingBodies(jsonLimits);
  // Fastify would also accept plain text, which any site's form can send.
  app.removeContentTypeParser(["text/plain", "application/json"]);
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, bytes, done) => {
    try {
      done(null, parse(request, bytes as Buffer));
    } catch (error) {
      done(error instanceof RefusalError ? error : new RefusalError("malformed_json"));
    }
  });
  app.addHook("preParsing", (request, reply, payload, done) => {
    done(null, payload);
    // Mostly the body came with the head: then it is complete after this turn of the parser.
    if (isArriving(request)) process.nextTick(limitArrival, request, reply);
  });

  function limitArrival(request: FastifyRequest, reply: FastifyReply): void {
    if (!isArriving(request) || reply.sent) return;
    const refuse = (refusal: RefusalError) => {
      // The body may be refused unread, or may not be needed: then the response has been sent. Stop
      // reading from a client that was too slow: it may send for ever.
      if (!reply.sent && !reply.raw.headersSent) sendProblem(refusal, request, reply, 0);
    };
    // Unknown callers may send small bodies only, and have few connections.
    const arriving =
      request.caller === null
        ? unlimited
        : begin(request.caller, Number(request.headers["content-length"] ?? Infinity));
    if (!arriving) return refuse(tooMuch());
    const timer = setTimeout(() => refuse(new RefusalError("request_timeout")), app.patience);
    const count = (part: Buffer) => {
      // What comes after the response is discarded.
      if (reply.sent) return stop();
      if (arriving.receive(part.length)) return;
      stop();
      refuse(tooMuch());
    };
    const stop = () => {
      clearTimeout(timer);
      request.raw.off("data", count);
      arriving.end();
    };
    request.raw.on("data", count);
    request.raw.once("end", stop);
    // After the response, or when the connection is lost.
    reply.raw.once("close", stop);
  }
}

const unlimited: Arriving = { receive: () => true, end: () => undefined };

const tooMuch = (): RefusalError =>
  new RefusalError(
    "unavailable",
    "the bodies of requests that are arriving take too much memory: send fewer at once",
    {},
    { "retry-after": "1" },
  );

/**
 * Streams of bytes may take as long as their size needs. The body of a GET, or of a route without
 * one, is not read.
 */
const isArriving = (request: FastifyRequest): boolean => {
  if (!hasUnreadBody(request)) return false;
  const { endpoint } = routeOf(request).config;
  return endpoint === undefined ? request.method !== "GET" : endpoint.body !== undefined;
};

function parse(request: FastifyRequest, bytes: Buffer): unknown {
  const { headers } = request;
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "identity")
    throw new RefusalError(
      "unsupported_media_type",
      "send the body without a content coding",
      {},
      { "accept-encoding": "identity" },
    );
  if (!isUtf8(bytes)) throw new RefusalError("malformed_json", "the body is not UTF-8");
  const { config, schema } = routeOf(request);
  const { endpoint, dropsExcess = false } = config;
  // User input is exact or refused; a runner's report is not lost because of half a character.
  const isExact = isOfPerson(schema);
  const values = endpoint?.bodyValues ?? jsonValues;
  return parseJson(bytes, { isExact, values, dropsExcess });
}

export interface JsonOptions {
  /** Refuses unpaired surrogates, which cannot be stored. */
  readonly isExact: boolean;
  /** Default `jsonValues`. */
  readonly values?: number;
  /** Keeps the plain values of a map that has too many, and drops its lists and maps. */
  readonly dropsExcess?: boolean;
}

/** Limits keep other requests from waiting. Throws `malformed_json` or a SyntaxError. */
export function parseJson(
  json: Buffer,
  { isExact, values = jsonValues, dropsExcess = false }: JsonOptions,
): unknown {
  // Fastify's parser also searches for __proto__, a name like any other where nothing is merged.
  const excess = findExcess(json, { levels: jsonLevels, values });
  if (excess !== undefined && !dropsExcess) throw new RefusalError("malformed_json", excess);
  const text = excess === undefined ? json.toString() : withoutParts(json);
  const value: unknown = JSON.parse(text);
  if (isExact && /\\u[dD][89a-fA-F]/.test(text) && !isWellFormed(value))
    throw new RefusalError("malformed_json", "the body contains an unpaired surrogate");
  return value;
}

/** SQLite reads 1000 levels, and what a body contains is stored inside of other JSON. */
export const jsonLevels = 500;

/** Members and entries of one body. Parsing this many, all of them different, takes about 30 ms. */
export const jsonValues = 20_000;

/** The bodies that users write are those that refuse unknown fields. */
const isOfPerson = (schema: FastifyRequest["routeOptions"]["schema"]): boolean =>
  (schema?.body as { additionalProperties?: unknown } | undefined)?.additionalProperties === false;

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWellFormed(inner));
}
