import { createServer, type ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { openApi } from "../../../cli/api/api.ts";
import { listen } from "../../helpers/network/listen.ts";

type Reply = (response: ServerResponse) => void;

const json =
  (status: number, body: object, headers: Record<string, string> = {}): Reply =>
  (response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
const away = json(503, { detail: "the store is away" }, { "retry-after": "0" });
const uncertain = json(503, { detail: "the database broke" });
const badGateway = json(502, {});
const cut: Reply = (response) => void response.destroy();

/** Calls a server that sends these replies, the last one again and again. */
async function called(replies: readonly Reply[], name: "listZones" | "createZone") {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    replies[Math.min(requests++, replies.length - 1)]!(response);
  });
  await using listening = await listen(server);
  const settings = { url: listening.url, token: "t", directory: "/nowhere" };
  const api = openApi({ settings, server: undefined, profile: undefined });
  const body = { name: "network" };
  const outcome = await (name === "listZones" ? api.call(name) : api.call(name, { body })).then(
    () => "done",
    (error: Error) => error.message,
  );
  return [outcome, requests];
}

const zones = json(200, { zones: [] });
const zone = json(201, {});

test.for([
  ["a refusal that says when to come back", [away, away, zones], ["done", 3]],
  ["a connection that was cut", [cut, zones], ["done", 2]],
  ["a proxy that reaches no server", [badGateway, badGateway, zones], ["done", 3]],
] as const)("a read is repeated after %s", async ([, replies, expected]) => {
  expect(await called(replies, "listZones")).toEqual(expected);
});

test("a read whose connection is cut again and again fails in the end", async () => {
  const [outcome, requests] = await called([cut], "listZones");
  expect(outcome).toContain("the connection was closed");
  expect(requests).toBe(4);
});

test("a response that breaks off is said in the words of the client", async () => {
  const noise: Reply = (response) => void response.socket?.end("no HTTP\r\n\r\n");
  const [outcome, requests] = await called([noise], "listZones");
  expect(outcome).toMatch(/^The response of http:\S+ broke off, or it is not a Windlass server\./);
  expect(requests).toBe(4);
  const [changed] = await called([noise], "createZone");
  expect(changed).toMatch(
    /\nThe request may have been carried out\. Check before you repeat it\.$/,
  );
});

test("a redirect is not followed, and says which address to use", async () => {
  const redirect: Reply = (response) =>
    void response.writeHead(301, { location: "https://windlass.test/api/cli/zones" }).end("<html>");
  const [outcome, requests] = await called([redirect], "listZones");
  expect(outcome).toMatch(/^http:\S+ redirects to https:\/\/windlass\.test\. Use that address\.$/);
  expect(requests).toBe(1);
});

test("a change is repeated only after a refusal that has changed nothing", async () => {
  expect(await called([away, zone], "createZone")).toEqual(["done", 2]);
  expect(await called([uncertain, zone], "createZone")).toEqual(["the database broke", 1]);
  expect(await called([badGateway, zone], "createZone")).toEqual([expect.any(String), 1]);
  expect((await called([cut, zone], "createZone"))[1]).toBe(1);
});
