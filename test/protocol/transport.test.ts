import { expect, test } from "vitest";
import { calledEndpoints } from "../../protocol/called-endpoints.ts";
import { endpoints } from "../../protocol/endpoints.ts";
import { call, RedirectError, send } from "../../protocol/transport.ts";
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

test("the table of paths is that of the declared endpoints", () => {
  const declared = Object.entries(endpoints).map(([name, { method, path }]) => [
    name,
    { method, path },
  ]);
  expect(calledEndpoints, "run: npm run endpoint-paths").toEqual(Object.fromEntries(declared));
});
