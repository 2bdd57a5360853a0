import type { FastifyReply, FastifyRequest } from "fastify";
import { checked, contentDigests, contentMd5 } from "../domain/digest.ts";
import { RefusalError } from "../domain/refusal.ts";
import type { Content } from "../services/storage/stored-content.ts";
import { select } from "./range.ts";
import { sent } from "./sent.ts";
import { mebibyte, minute } from "../../common/units.ts";
import { arrivingBodies, uploadLimits } from "./arriving-bodies.ts";

/** Longest pause within a body; then the connection is closed and what came is dropped. */
const idleMilliseconds = minute;
/**
 * What must arrive in each minute in which the server waits for it: unfinished bytes take space. A
 * state of 64 MiB may take an hour.
 */
export const leastBytes = mebibyte;

const beginUpload = arrivingBodies(uploadLimits);

/**
 * Returns the body of a request, which fails at its end if it does not match the
 * digests of the request. A declared length over the limit is refused at once; for other bodies,
 * the reader enforces the limit.
 */
export function bytesOf(request: FastifyRequest, limit: number): AsyncIterable<Uint8Array> {
  const { headers } = request;
  if (Number(headers["content-length"]) > limit)
    throw new RefusalError("payload_too_large", `the body may have at most ${limit} bytes`);
  const md5 = headers["content-md5"];
  return checked(arriving(request), [
    ...contentDigests(headers["content-digest"] as string | undefined),
    ...contentMd5(typeof md5 === "string" ? md5 : undefined),
  ]);
}

async function* arriving(request: FastifyRequest): AsyncGenerator<Buffer> {
  const { raw, headers, caller, server } = request;
  const counted = beginUpload(caller, Number(headers["content-length"] ?? 0));
  if (!counted) throw tooManyUploads();
  const checkRate = rateCheck(server.patience);
  // Without a listener Node then destroys the connection, and the body breaks off.
  raw.socket.setTimeout(idleMilliseconds);
  try {
    // Not destroyed when its reader stops, because the refusal must be sent on this connection.
    const chunks = raw.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
    for (;;) {
      const asked = performance.now();
      const { done, value } = await nextOf(chunks);
      if (done) return;
      checkRate(value.length, performance.now() - asked);
      if (!counted.receive(value.length)) throw tooManyUploads();
      yield value;
    }
  } finally {
    raw.socket.setTimeout(0);
    counted.end();
  }
}

async function nextOf(chunks: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer, undefined>> {
  try {
    return await chunks.next();
  } catch {
    throw new RefusalError("bad_request", "the connection ended before the body was complete");
  }
}

/**
 * Refuses a body that is slower than `leastBytes` in a minute. Only the time in which the server
 * waits for bytes counts, and the first `patience` milliseconds of it are always granted.
 */
function rateCheck(patience: number): (bytes: number, waited: number) => void {
  let bytes = 0;
  let waited = 0;
  return (more, milliseconds) => {
    bytes += more;
    waited += milliseconds;
    if (waited < patience) return;
    if (bytes < (leastBytes * waited) / minute)
      throw new RefusalError(
        "request_timeout",
        `the body arrives too slowly: send at least ${leastBytes / mebibyte} MiB in a minute`,
      );
    [bytes, waited] = [0, 0];
  };
}

const tooManyUploads = (): RefusalError =>
  new RefusalError(
    "unavailable",
    "too many bytes of unfinished uploads: send fewer files at once",
    {},
    { "retry-after": "5" },
  );

export async function sendContent(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  content: Content,
  type: string,
): Promise<typeof sent> {
  const { sha256, size_bytes: size } = content;
  const etag = `"${sha256}"`;
  const digest = `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`;
  reply.headers({
    etag,
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache",
    "repr-digest": digest,
  });
  const selection = select(headers, etag, size);
  switch (selection.kind) {
    case "unchanged":
      reply.code(304).send();
      return sent;
    case "outside":
      throw new RefusalError(
        "range_not_satisfiable",
        `the content has ${size} bytes`,
        {},
        {
          "content-range": `bytes */${size}`,
        },
      );
    case "part": {
      const { start, end } = selection;
      reply.code(206).headers({
        "content-range": `bytes ${start}-${end}/${size}`,
        "content-length": end - start + 1,
      });
      reply.type(type).send(await content.read({ start, end }));
      return sent;
    }
    case "whole":
      // RFC 9530: Content-Digest covers what is sent, so a range has none that is known.
      reply.headers({ "content-digest": digest, "content-length": size });
      reply.type(type).send(await content.read());
      return sent;
  }
}
