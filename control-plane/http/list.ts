/**
 * Sends lists: a whole list, or a page with `limit` and `cursor`. A list is written object by
 * object and no faster than the client reads, so memory stays small for lists of any size, and
 * other requests are served in between.
 */
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import { validate } from "uuid";
import { RefusalError } from "../domain/refusal.ts";
import { writeWhole, type JsonText } from "../services/json-text.ts";
import { sent } from "./route.ts";

/** How many objects, or ids, are read at a time while a whole list is written. */
const pageSize = 200;
/** Characters written in one turn of the event loop. A smaller response is sent at once. */
const pieceLength = 64 * 1024;

/** Reads a page of objects older than `before`. */
export type ReadPage<T> = (before: string | undefined, limit: number) => Promise<T[]>;

export interface ListOf<T> {
  readonly read: ReadPage<T>;
  readonly cursorOf: (thing: T) => string;
  /** Returns the JSON of one object; undefined if it no longer exists. */
  readonly write: (thing: T) => JsonText;
}

interface Paging {
  readonly limit?: number;
  readonly cursor?: string;
}

/** Sends a list of small objects. The cursor is the id of the last one of the page. */
export function sendList<T extends { id: string }>(
  reply: FastifyReply,
  name: string,
  paging: Paging,
  read: ReadPage<T>,
): Promise<typeof sent> {
  return sendListOf(reply, name, withId(paging), {
    read,
    cursorOf: ({ id }) => id,
    write: writeWhole,
  });
}

/**
 * Sends a list of objects that may be large: reads a page as ids, and each object when it is to be
 * written.
 */
export function sendListById(
  reply: FastifyReply,
  name: string,
  paging: Paging,
  read: ReadPage<string>,
  write: (id: string) => JsonText,
): Promise<typeof sent> {
  return sendListOf(reply, name, withId(paging), { read, cursorOf: (id) => id, write });
}

/** Sends a list. The caller has checked a cursor that is not an id. */
export async function sendListOf<T>(
  reply: FastifyReply,
  name: string,
  { limit, cursor }: Paging,
  list: ListOf<T>,
): Promise<typeof sent> {
  // The first page is read before the status line, so that a refusal is still an error.
  const first = await list.read(cursor, limit === undefined ? pageSize : limit + 1);
  const last = limit === undefined || first.length <= limit ? undefined : first[limit - 1];
  const next_cursor = last === undefined ? null : list.cursorOf(last);

  async function* things(): AsyncGenerator<T> {
    if (limit !== undefined) return yield* first.slice(0, limit);
    let page = first;
    yield* page;
    while (page.length === pageSize) {
      page = await list.read(list.cursorOf(page[pageSize - 1]!), pageSize);
      yield* page;
    }
  }

  async function* text(): JsonText {
    yield `{${JSON.stringify(name)}:[`;
    let isFirst = true;
    for await (const thing of things()) {
      let isBegun = false;
      for await (const piece of list.write(thing)) {
        yield isFirst || isBegun ? piece : `,${piece}`;
        isFirst = false;
        isBegun = true;
      }
    }
    yield `],${JSON.stringify({ next_cursor }).slice(1)}`;
  }

  return sendJson(reply, text());
}

/**
 * Sends JSON that is written in pieces: short JSON at once, long JSON as fast as the client reads
 * it.
 */
export async function sendJson(reply: FastifyReply, text: JsonText): Promise<typeof sent> {
  const pieces = inTurns(text);
  const first = await pieces.next();
  const second = first.done ? first : await pieces.next();
  reply.type("application/json; charset=utf-8");
  if (second.done) reply.send(first.value ?? "");
  else
    reply.send(
      Readable.from(rest([first.value ?? "", second.value], pieces), {
        objectMode: false,
        highWaterMark: pieceLength,
      }),
    );
  return sent;
}

async function* rest(begin: readonly string[], pieces: JsonText): JsonText {
  yield* begin;
  yield* pieces;
}

/** Joins short pieces, and lets other requests run after each piece that is long enough. */
async function* inTurns(text: JsonText): AsyncGenerator<string> {
  let piece = "";
  for await (const part of text) {
    piece += part;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = "";
    await turn();
  }
  if (piece !== "") yield piece;
}

/** Ids are stored in lower case, and accepted in any case. */
function withId({ cursor, ...paging }: Paging): Paging {
  if (cursor === undefined) return paging;
  if (!validate(cursor)) throw new RefusalError("invalid_cursor");
  return { ...paging, cursor: cursor.toLowerCase() };
}
