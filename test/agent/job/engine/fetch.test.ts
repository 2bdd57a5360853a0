/** Downloads from servers that handle range requests in unusual ways. */
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
let respond: (from: number, response: ServerResponse, headers: IncomingHttpHeaders) => void;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "fetch-"));
  server = createServer(({ headers }, response) => {
    respond(Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0), response, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

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
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const signal = AbortSignal.timeout(20_000);
  const digest = await fetchFile(address, file, { limit: 1e6, network: {}, signal });
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
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const signal = AbortSignal.timeout(60_000);
  await fetchFile(address, join(directory, "later"), { limit: 1e6, network: {}, signal });
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
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const { signal } = new AbortController();
  const options = { limit: 1e6, network: {}, signal };
  await expect(fetchFile(address, join(directory, "none"), options)).rejects.toThrow(
    "answered 404",
  );
  expect(tries).toBe(1);
});
