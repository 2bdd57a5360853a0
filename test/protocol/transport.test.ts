import { createServer } from "node:http";
import { expect, test } from "vitest";
import { calledEndpoints } from "../../protocol/called-endpoints.ts";
import { endpoints } from "../../protocol/endpoints.ts";
import { call, RedirectError, ResponseTooLargeError, send } from "../../protocol/transport.ts";
import { listen } from "../helpers/network/listen.ts";
import { redirectingServer } from "../helpers/network/redirecting-server.ts";

const errorOf = (answer: Promise<unknown>): Promise<RedirectError> =>
  answer.then(
    () => expect.unreachable("the redirect was not reported"),
    (error: unknown) => error as RedirectError,
  );

test.each([301, 302, 303, 307, 308])(
  "status %i is an error that names the new server",
  async (status) => {
    await using server = await redirectingServer((path) => `https://windlass.test${path}`, status);
    const query = { wait: 30 };
    for (const answer of [
      call(server.url, "claimJob", { query }),
      send(server.url, "claimJob", { query }),
      call(`${server.url}/`, "listZones", {}),
    ]) {
      const error = await errorOf(answer);
      expect(error).toBeInstanceOf(RedirectError);
      expect(error).toMatchObject({ server: "https://windlass.test" });
      expect(error.message).toBe(`${server.url} redirects to https://windlass.test`);
    }
  },
);

test("a redirect to another page names the page, and no server", async () => {
  await using server = await redirectingServer(() => "/sign-in");
  const error = await errorOf(call(server.url, "listZones", {}));
  expect(error.message).toBe(`${server.url} redirects to ${server.url}/sign-in`);
  expect(error.server).toBeUndefined();
});

test("a response above its limit is an error, and not read to its end", async () => {
  let written = 0;
  const server = createServer((request, response) => {
    const status = request.method === "POST" ? 500 : 200;
    response.writeHead(status, { "content-type": "application/problem+json" });
    const write = (): void => {
      while (!response.destroyed && response.write(" ".repeat(2 ** 16))) written += 2 ** 16;
    };
    response.on("drain", write);
    write();
  });
  await using listening = await listen(server);
  const limit = 2 ** 20;
  const list = call(listening.url, "listZones", {}, { limit });
  await expect(list).rejects.toThrow(ResponseTooLargeError);
  await expect(call(listening.url, "listZones", {})).rejects.toThrow(/more than 67108864 bytes/);
  const claim = call(listening.url, "claimJob", { query: {} });
  await expect(claim).rejects.toMatchObject({ status: 500, code: undefined });
  expect(written).toBeLessThan(128 * limit);
});

test("the table of paths is that of the declared endpoints", () => {
  const declared = Object.entries(endpoints).map(([name, { method, path }]) => [
    name,
    { method, path },
  ]);
  expect(calledEndpoints, "run: npm run endpoint-paths").toEqual(Object.fromEntries(declared));
});
