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
import { sent } from "./sent.ts";

/** How many objects, or ids, are read at a time while a whole list is written. */
const pageSize = 200;
/** Characters written in one turn of the event loop. A smaller response is sent at once. */
const pieceLength = 64 * 1024;

/** Reads up to `limit` objects older than `before`; fewer only at the end of the list. */
export type ReadSome<T> = (before: string | undefined, limit: number) => Promise<T[]>;

export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; undefined at the end of the list. */
  readonly next: string | undefined;
}

export interface ListOf<T> {
  readonly read: ReadSome<T>;
  readonly cursorOf: (thing: T) => string;
  /** Returns the JSON of one object; undefined if it no longer exists. */
  readonly write: (thing: T) => JsonText;
}

interface Paging {
  readonly limit?: number;
  readonly cursor?: string;
}

/** Sends a list under the name of its field. A handler returns one, which knows what to send. */
export type SendList = (reply: FastifyReply, name: string, paging: Paging) => Promise<typeof sent>;

/** A list of small objects. The cursor is the id of the last one of the page. */
export const list = <T extends { id: string }>(read: ReadSome<T>): SendList =>
  listWithIds({ read, cursorOf: ({ id }) => id, write: writeWhole });

/** A list of objects that may be large: a page is read as ids, and each object when it is written. */
export const listById = (read: ReadSome<string>, write: (id: string) => JsonText): SendList =>
  listWithIds({ read, cursorOf: (id) => id, write });

/** For a list in which a page may have few ids, or none, before its end. */
export const pagesById =
  (
    read: (before: string | undefined, limit: number) => Promise<Page<string>>,
    write: (id: string) => JsonText,
  ): SendList =>
  (reply, name, paging) =>
    sendPages(reply, name, withId(paging), read, write);

/** A list whose cursor is an id. */
export const listWithIds =
  <T>(of: ListOf<T>): SendList =>
  (reply, name, paging) =>
    listOf(of)(reply, name, withId(paging));

/** A list of any kind. The handler has checked a cursor that is not an id. */
export function listOf<T>({ read, cursorOf, write }: ListOf<T>): SendList {
  const readPage = async (before: string | undefined, limit: number): Promise<Page<T>> => {
    // One more tells whether the list continues.
    const found = await read(before, limit + 1);
    const items = found.slice(0, limit);
    return { items, next: found.length > limit ? cursorOf(items.at(-1)!) : undefined };
  };
  return (reply, name, paging) => sendPages(reply, name, paging, readPage, write);
}

async function sendPages<T>(
  reply: FastifyReply,
  name: string,
  { limit, cursor }: Paging,
  read: (before: string | undefined, limit: number) => Promise<Page<T>>,
  write: (thing: T) => JsonText,
): Promise<typeof sent> {
  // The first page is read before the status line, so that a refusal is still an error.
  const first = await read(cursor, limit ?? pageSize);
  const next_cursor = limit === undefined ? null : (first.next ?? null);

  async function* things(): AsyncGenerator<T> {
    let page = first;
    yield* page.items;
    while (limit === undefined && page.next !== undefined) {
      // Pages without items write nothing, and would keep other requests waiting.
      await turn();
      page = await read(page.next, pageSize);
      yield* page.items;
    }
  }

  async function* text(): JsonText {
    yield `{${JSON.stringify(name)}:[`;
    let isFirst = true;
    for await (const thing of things()) {
      let isBegun = false;
      for await (const piece of write(thing)) {
        yield isFirst || isBegun ? piece : `,${piece}`;
        isFirst = false;
        isBegun = true;
      }
    }
    yield `],${JSON.stringify({ next_cursor }).slice(1)}`;
  }

  return sendJson(reply, text());
}

/** Sends short JSON at once, long JSON as fast as the client reads it. */
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

/** Checks a cursor that is an id. Ids are stored in lower case, and accepted in any case. */
function withId({ cursor, ...paging }: Paging): Paging {
  if (cursor === undefined) return paging;
  if (!validate(cursor)) throw new RefusalError("invalid_cursor");
  return { ...paging, cursor: cursor.toLowerCase() };
}
