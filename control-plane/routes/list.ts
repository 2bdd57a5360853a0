/** Lists: all of it, streamed, or a page with `limit` and `cursor` (decisions.md, "Wire basics"). */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { sent } from "./route.ts";
import { validate } from "uuid";
import { Refusal } from "../problem.ts";

/** Rows read at a time while a whole list is streamed. */
const pageSize = 200;

/** Reads a page of things older than `before`. */
export type ReadPage<T> = (before: string | undefined, limit: number) => Promise<T[]>;

/** Answers `{[name]: […], next_cursor}`. The cursor is the id of the page's last thing: ids sort by time. */
export async function sendList<T extends { id: string }>(
  reply: FastifyReply,
  name: string,
  query: { limit?: number; cursor?: string },
  read: ReadPage<T>,
): Promise<typeof sent> {
  if (query.cursor !== undefined && !validate(query.cursor)) throw new Refusal("invalid_cursor");
  return sendListBy(reply, name, query, ({ id }) => id, read);
}

/** The same for things that another key orders; the caller has judged the cursor. */
export async function sendListBy<T>(
  reply: FastifyReply,
  name: string,
  { limit, cursor }: { limit?: number; cursor?: string },
  keyOf: (thing: T) => string,
  read: ReadPage<T>,
): Promise<typeof sent> {
  if (limit !== undefined) {
    const found = await read(cursor, limit + 1);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const next_cursor = found.length > limit && last !== undefined ? keyOf(last) : null;
    reply.send({ [name]: page, next_cursor });
    return sent;
  }
  const pages = async (last: T | undefined) =>
    read(last === undefined ? cursor : keyOf(last), pageSize);
  return sendStream(reply, name, "next_cursor", pages);
}

/**
 * Streams a JSON list page by page, so that a long one takes no more memory than a short one. `read` gets the last thing of the page
 * before; a page shorter than `size` is the last; `end` is asked after it for what else the answer says.
 */
export async function sendStream<T>(
  reply: FastifyReply,
  name: string,
  nextName: string,
  read: (last: T | undefined) => Promise<T[]>,
  size = pageSize,
  end: () => Promise<Record<string, string>> = async () => ({}),
): Promise<typeof sent> {
  // The first page before the status line: a refusal is still an error then.
  const first = await read(undefined);
  const text = async function* () {
    let page = first;
    yield `{${JSON.stringify(name)}:[${page.map((thing) => JSON.stringify(thing)).join(",")}`;
    while (page.length >= size) {
      page = await read(page.at(-1));
      if (page.length > 0) yield `,${page.map((thing) => JSON.stringify(thing)).join(",")}`;
    }
    yield `],${JSON.stringify({ [nextName]: null, ...(await end()) }).slice(1)}`;
  };
  reply.type("application/json; charset=utf-8").send(Readable.from(text()));
  return sent;
}
