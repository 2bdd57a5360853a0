/** Some parts of undici stand for all of it. */
import { expect, test } from "vitest";
import * as undici from "undici";
import * as parts from "../../common/http-client.ts";
import { EnvHttpProxyAgent } from "../../common/http-proxies.ts";

test("the parts are those that undici's index exports", () => {
  expect(parts.Agent).toBe(undici.Agent);
  expect(EnvHttpProxyAgent).toBe(undici.EnvHttpProxyAgent);
  expect(parts.setGlobalDispatcher).toBe(undici.setGlobalDispatcher);
  expect(parts.redirect).toBe(undici.interceptors.redirect);
});

test("every later request uses the global dispatcher, unless it has its own", async () => {
  const before = undici.getGlobalDispatcher();
  const [everywhere, own] = [new undici.MockAgent(), new undici.MockAgent()];
  for (const [agent, reply] of [
    [everywhere, "everywhere"],
    [own, "own"],
  ] as const) {
    agent.disableNetConnect();
    agent.get("http://server.test").intercept({ path: "/a?b=c", method: "GET" }).reply(200, reply);
  }
  parts.setGlobalDispatcher(everywhere);
  try {
    const first = await parts.request("http://server.test/a?b=c");
    expect(await first.body.text()).toBe("everywhere");
    const second = await parts.request("http://server.test/a?b=c", { dispatcher: own });
    expect(await second.body.text()).toBe("own");
  } finally {
    parts.setGlobalDispatcher(before);
  }
});
