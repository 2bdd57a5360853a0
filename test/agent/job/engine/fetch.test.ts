/** Downloads from servers that handle range requests in unusual ways. */
import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fetchFile } from "../../../../agent/job/engine/fetch.ts";
import { listen, type Listening } from "../../../helpers/network/listen.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const content = randomBytes(300_000);
const half = 100_000;
let server: Listening;
const directory = folderForFile();
let respond: (from: number, response: ServerResponse, headers: IncomingHttpHeaders) => void;
beforeAll(async () => {
  server = await listen(
    createServer(({ headers }, response) => {
      respond(Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0), response, headers);
    }),
  );
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const fetchTo = (file: string) => {
  const signal = AbortSignal.timeout(60_000);
  return fetchFile(`${server.url}/x`, file, { limit: 1e6, network: {}, signal });
};
const head = { etag: '"one"' };
/** Responds with the whole file, or breaks off after a third of it. */
function whole(response: ServerResponse, breaks: boolean): void {
  response.writeHead(200, { ...head, "content-length": content.length });
  if (breaks) response.write(content.subarray(0, half), () => response.destroy());
  else response.end(content);
}

test.each<[string, (from: number, response: ServerResponse) => void]>([
  [
    "returns less than the requested range",
    (from, response) => {
      const end = Math.min(from + half, content.length);
      const range = { "content-range": `bytes ${from}-${end - 1}/${content.length}` };
      response.writeHead(206, { ...head, ...range }).end(content.subarray(from, end));
    },
  ],
  [
    "returns another range than requested",
    (from, response) => {
      const range = { "content-range": `bytes 0-${content.length - 1}/${content.length}` };
      response.writeHead(206, { ...head, ...range }).end(content);
    },
  ],
  [
    "does not name the returned range",
    (from, response) => response.writeHead(206, head).end(content.subarray(from)),
  ],
  ["ignores the range", (_, response) => whole(response, false)],
  ["rejects the range", (_, response) => response.writeHead(416, head).end()],
])("the whole file is downloaded from a server that %s", async (name, part) => {
  let tries = 0;
  respond = (from, response, { range }) => {
    tries += 1;
    if (range) part(from, response);
    else whole(response, tries === 1);
  };
  const file = join(directory, name);
  const digest = await fetchTo(file);
  expect(digest).toBe(createHash("sha256").update(content).digest("hex"));
  expect((await readFile(file)).equals(content)).toBe(true);
});

test("a request refused with 429 is repeated after the time in Retry-After", async () => {
  const asked: number[] = [];
  respond = (_, response) => {
    asked.push(performance.now());
    if (asked.length === 1) response.writeHead(429, { "retry-after": "1" }).end();
    else whole(response, false);
  };
  await fetchTo(join(directory, "later"));
  const [first = 0, second = 0] = asked;
  // A timer may come a little early.
  expect(second - first).toBeGreaterThan(990);
});

test("a request refused with 404 is not repeated", async () => {
  let tries = 0;
  respond = (_, response) => {
    tries += 1;
    response.writeHead(404).end();
  };
  await expect(fetchTo(join(directory, "none"))).rejects.toThrow("responded with status 404");
  expect(tries).toBe(1);
});
