/** Lists are written item by item, no faster than they are read. */
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listById, pagesById } from "../../../control-plane/http/list.ts";
import { writeWhole } from "../../../control-plane/services/json-text.ts";

const megabyte = 1024 * 1024;
const uuidOf = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

let app: FastifyInstance;
let written: number;
beforeEach(() => {
  app = Fastify();
  written = 0;
});
afterEach(() => app.close());

/** Serves a list of `amount` items of this size. The newest has the highest number. */
async function serve(amount: number, size: number, gone = new Set<string>()): Promise<string> {
  const ids = Array.from({ length: amount }, (_, number) => uuidOf(amount - number));
  app.get("/", (request, reply) => {
    const list = listById(
      async (before, limit) => ids.filter((id) => !before || id < before).slice(0, limit),
      (id) => {
        written += 1;
        return writeWhole(gone.has(id) ? undefined : { id, text: "x".repeat(size) });
      },
    );
    list(reply, "things", request.query as object).catch((error: unknown) => reply.send(error));
  });
  return app.listen({ port: 0 });
}

it("buffers only a few items, however large the list is", async () => {
  const url = await serve(200, megabyte);
  const response = await fetch(url);
  let received = 0;
  let ahead = 0;
  for await (const bytes of response.body!) {
    received += bytes.length;
    ahead = Math.max(ahead, written - received / megabyte);
  }
  expect(received).toBeGreaterThan(200 * megabyte);
  // The buffers of the kernel and the client are ahead of the count.
  expect(ahead).toBeLessThan(30);
});

it("serves other requests while it writes a list", async () => {
  app.get("/other", async () => ({ ok: true }));
  const url = await serve(20_000, 1000);
  let isWritten = false;
  const list = fetch(url)
    .then((response) => response.text())
    .finally(() => {
      isWritten = true;
    });
  let answered = 0;
  while (!isWritten) {
    await (await fetch(`${url}/other`)).text();
    if (!isWritten) answered += 1;
  }
  expect(JSON.parse(await list)).toMatchObject({ next_cursor: null });
  expect(answered).toBeGreaterThan(3);
});

it("continues after pages with few items", async () => {
  const ids = Array.from({ length: 40 }, (_, number) => uuidOf(40 - number));
  let searched = 0;
  // Each page searches ten ids and finds the third of them.
  app.get("/", (request, reply) => {
    const list = pagesById(
      async (before) => {
        searched += 1;
        const rest = ids.filter((id) => !before || id < before);
        const items = rest.slice(2, 3);
        return { items, next: rest.length > 10 ? rest[9] : undefined };
      },
      (id) => writeWhole({ id }),
    );
    list(reply, "things", request.query as object).catch((error: unknown) => reply.send(error));
  });
  const url = await app.listen({ port: 0 });
  const read = async (query: string) =>
    (await (await fetch(`${url}/${query}`)).json()) as { things: object[]; next_cursor: unknown };
  const things = [ids[2], ids[12], ids[22], ids[32]].map((id) => ({ id }));
  expect(await read("")).toEqual({ things, next_cursor: null });
  expect(searched).toBe(4);
  expect(await read("?limit=5")).toEqual({ things: things.slice(0, 1), next_cursor: ids[9] });
  expect(await read(`?limit=5&cursor=${ids[29]}`)).toEqual({
    things: things.slice(3),
    next_cursor: null,
  });
});

it("leaves out deleted items and still writes valid JSON", async () => {
  const url = await serve(3, 1, new Set([uuidOf(3), uuidOf(1)]));
  expect(await (await fetch(url)).json()).toEqual({
    things: [{ id: uuidOf(2), text: "x" }],
    next_cursor: null,
  });
});

it.each([0, 1, 199, 200, 201, 400, 401])("writes all of %i items", async (amount) => {
  const url = await serve(amount, 1);
  const { things } = (await (await fetch(url)).json()) as { things: unknown[] };
  expect(things).toHaveLength(amount);
});
