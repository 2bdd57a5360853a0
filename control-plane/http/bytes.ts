/** Bodies that are bytes: read as they arrive, sent as they are read. */
import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { checked, contentDigests, contentMd5 } from "../domain/digest.ts";
import { RefusalError } from "../domain/refusal.ts";
import type { Content } from "../services/storage/stored-content.ts";
import { select } from "./range.ts";
import { sent } from "./route.ts";
import { minute } from "../../common/units.ts";

/** A connection that sends nothing for so long in the middle of a body is cut, and what it sent is dropped. */
const idleMilliseconds = minute;

/**
 * The body of a request (of `bytesRoutes`), checked against the digests that came with it. One that says it is over the limit is
 * refused at once; a reader bounds one that does not declare its length.
 */
export function bytesOf(
  { raw, headers }: FastifyRequest,
  limit: number,
): AsyncIterable<Uint8Array> {
  if (Number(headers["content-length"]) > limit)
    throw new RefusalError("payload_too_large", `at most ${limit} bytes are taken`);
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
    // Not destroyed when its reader stops: the refusal still has to be sent on this connection.
    yield* raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch {
    throw new RefusalError("bad_request", "the body broke off");
  } finally {
    raw.socket.setTimeout(0);
  }
}

/** Sends content, or the part of it that is asked for. */
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
      // RFC 9530: Content-Digest is that of what is sent, so a part has none that is known.
      reply.headers({ "content-digest": digest, "content-length": size });
      reply.type(type).send(await content.read());
      return sent;
  }
}
