import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { checked, contentDigests, contentMd5 } from "../domain/digest.ts";
import { RefusalError } from "../domain/refusal.ts";
import type { Content } from "../services/storage/stored-content.ts";
import { select } from "./range.ts";
import { sent } from "./sent.ts";
import { minute } from "../../common/units.ts";

/** Longest pause within a body; then the connection is closed and what came is dropped. */
const idleMilliseconds = minute;

/**
 * Returns the body of a request, which fails at its end if it does not match the
 * digests of the request. A declared length over the limit is refused at once; for other bodies,
 * the reader enforces the limit.
 */
export function bytesOf(
  { raw, headers }: FastifyRequest,
  limit: number,
): AsyncIterable<Uint8Array> {
  if (Number(headers["content-length"]) > limit)
    throw new RefusalError("payload_too_large", `the body may have at most ${limit} bytes`);
  const md5 = headers["content-md5"];
  return checked(arriving(raw), [
    ...contentDigests(headers["content-digest"] as string | undefined),
    ...contentMd5(typeof md5 === "string" ? md5 : undefined),
  ]);
}

async function* arriving(raw: IncomingMessage): AsyncGenerator<Buffer> {
  // Without a listener Node then destroys the connection, and the body breaks off.
  raw.socket.setTimeout(idleMilliseconds);
  try {
    // Not destroyed when its reader stops, because the refusal must be sent on this connection.
    yield* raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch {
    throw new RefusalError("bad_request", "the connection ended before the body was complete");
  } finally {
    raw.socket.setTimeout(0);
  }
}

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
