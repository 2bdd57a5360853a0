/** Downloads from servers that take a part of a file for something else. */
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fetchFile } from "../../../../agent/job/engine/fetch.ts";

const content = randomBytes(300_000);
const half = 100_000;
let server: Server;
let directory: string;
let answer: (from: number, response: ServerResponse, headers: IncomingHttpHeaders) => void;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "fetch-"));
  server = createServer(({ headers }, response) => {
    answer(Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0), response, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

const head = { etag: '"one"' };
/** The whole file; `breaks` off after a third of it. */
function whole(response: ServerResponse, breaks: boolean): void {
  response.writeHead(200, { ...head, "content-length": content.length });
  if (breaks) response.write(content.subarray(0, half), () => response.destroy());
  else response.end(content);
}

test.each<[string, (from: number, response: ServerResponse) => void]>([
  [
    "gives less than the rest at a time",
    (from, response) => {
      const end = Math.min(from + half, content.length);
      const range = { "content-range": `bytes ${from}-${end - 1}/${content.length}` };
      response.writeHead(206, { ...head, ...range }).end(content.subarray(from, end));
    },
  ],
  [
    "gives another part than the one asked for",
    (from, response) => {
      const range = { "content-range": `bytes 0-${content.length - 1}/${content.length}` };
      response.writeHead(206, { ...head, ...range }).end(content);
    },
  ],
  [
    "does not say which part it gives",
    (from, response) => response.writeHead(206, head).end(content.subarray(from)),
  ],
  ["ignores the wish", (_, response) => whole(response, false)],
  ["has no such part", (_, response) => response.writeHead(416, head).end()],
])("a server that %s gives the whole file in the end", async (name, part) => {
  let tries = 0;
  answer = (from, response, { range }) => {
    tries += 1;
    if (range) part(from, response);
    else whole(response, tries === 1);
  };
  const file = join(directory, name);
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const signal = AbortSignal.timeout(20_000);
  const digest = await fetchFile(address, file, { limit: 1e6, network: {}, signal });
  expect(digest).toBe(createHash("sha256").update(content).digest("hex"));
  expect((await readFile(file)).equals(content)).toBe(true);
});

test("a server with too many requests is asked again after the time that it names", async () => {
  const asked: number[] = [];
  answer = (_, response) => {
    asked.push(performance.now());
    if (asked.length === 1) response.writeHead(429, { "retry-after": "1" }).end();
    else whole(response, false);
  };
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const signal = AbortSignal.timeout(60_000);
  await fetchFile(address, join(directory, "later"), { limit: 1e6, network: {}, signal });
  const [first = 0, second = 0] = asked;
  // A timer may come a little early.
  expect(second - first).toBeGreaterThan(990);
});

test("a server that refuses is not asked again", async () => {
  let tries = 0;
  answer = (_, response) => {
    tries += 1;
    response.writeHead(404).end();
  };
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const { signal } = new AbortController();
  const options = { limit: 1e6, network: {}, signal };
  await expect(fetchFile(address, join(directory, "none"), options)).rejects.toThrow(
    "answered 404",
  );
  expect(tries).toBe(1);
});
