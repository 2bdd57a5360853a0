/** What places that users name may be, and what they may do. */
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { Destinations } from "../../../control-plane/outbound/destinations.ts";
import { Outbound } from "../../../control-plane/outbound/outbound.ts";
import { isWithoutProxy, nodeProxies } from "../../../common/network.ts";
import { listen, type Listening } from "../../helpers/network/listen.ts";

describe("a destination", () => {
  const judged = (address: string) => () => new Destinations([]).check(new URL(address));
  const addressOf = (list: readonly string[], name: string) =>
    new Promise((resolve, reject) =>
      new Destinations(list).lookup(name, { all: false }, (error, address) =>
        error ? reject(error) : resolve(address),
      ),
    );

  it.each(
    "127.0.0.1 10.0.0.1 172.31.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 198.18.0.1 2130706433 0x7f.1 017700000001 [::1] [::] [fd00::1] [fe80::1] [ff02::1] [::ffff:127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [2001:db8::1]".split(
      " ",
    ),
  )("is not %s", (host) => {
    expect(judged(`https://${host}/`)).toThrow("no public address");
  });
  it.each("8.8.8.8 [2606:4700::1111] git.example.com".split(" "))("is %s", (host) => {
    expect(judged(`https://${host}/`)).not.toThrow();
  });
  it("is what the operator names, also by plain http", () => {
    const destinations = new Destinations(["git.internal", "10.1.0.0/16", "fd00::/8"]);
    for (const one of ["http://GIT.internal", "http://10.1.2.3", "https://[fd00::1]"])
      expect(() => destinations.check(new URL(one))).not.toThrow();
    for (const one of ["http://git.example.com", "https://10.2.0.1", "http://8.8.8.8"])
      expect(() => destinations.check(new URL(one))).toThrow("WINDLASS_OUTBOUND_ALLOW");
  });
  it("is judged by the address that its name has when it is connected to", async () => {
    await expect(addressOf([], "localhost")).rejects.toThrow(
      /localhost \(.+\) is no public address/,
    );
    expect(await addressOf(["localhost"], "localhost")).toMatch(/^(127\.0\.0\.1|::1)$/);
    expect(await addressOf(["127.0.0.0/8", "::1"], "localhost")).toMatch(/^(127\.0\.0\.1|::1)$/);
  });
});

describe("a request", () => {
  let place: Listening;
  const server = createServer((request, response) => {
    if (request.url === "/slow") return;
    if (request.url === "/endless") {
      const timer = setInterval(() => response.write(Buffer.alloc(1 << 20)), 1);
      return void response.on("close", () => clearInterval(timer));
    }
    if (request.url === "/redirect") response.writeHead(302, { location: "/" });
    response.end("here");
  });
  beforeAll(async () => void (place = await listen(server)));
  afterAll(() => place[Symbol.asyncDispose]());

  test("follows no redirect, and is bounded in time and size", async () => {
    const outbound = new Outbound(["127.0.0.1"], 500);
    const send = (path: string) => outbound.send(place.url + path);
    expect(await send("/")).toMatchObject({ status: 200, text: "here" });
    expect(await send("/redirect")).toMatchObject({ status: 302 });
    await expect(send("/slow")).rejects.toThrow("did not answer: it took too long");
    await expect(new Outbound(["127.0.0.1"]).send(`${place.url}/endless`)).rejects.toThrow(
      "too long",
    );
    await expect(new Outbound().send(place.url)).rejects.toThrow("not https");
    await outbound.close();
  });
});

describe("a request through a proxy", () => {
  const seen: (string | undefined)[] = [];
  const proxy = createServer(({ url }, response) => {
    seen.push(url);
    response.end("by the proxy");
  });
  let place: Listening;
  beforeAll(async () => void (place = await listen(proxy)));
  afterAll(() => place[Symbol.asyncDispose]());
  const through = (allowed: readonly string[], more = {}) =>
    new Outbound(allowed, 2000, { HTTP_PROXY: place.url, ...more });

  test("is judged by its name and its literal address, because the proxy resolves it", async () => {
    const strict = through([]);
    for (const host of "localhost localhost. a.localhost intranet db.internal printer.local x.home.arpa".split(
      " ",
    ))
      expect(() => strict.check(`https://${host}/`)).toThrow("is no public name");
    for (const host of ["127.0.0.1", "10.1.2.3", "[::1]"])
      expect(() => strict.check(`https://${host}/`)).toThrow("is no public address");
    for (const host of ["git.example.com", "8.8.8.8", "[2606:4700::1111]"])
      expect(() => strict.check(`https://${host}/`)).not.toThrow();
    expect(() => strict.check("http://git.example.com/")).toThrow("is not https");
    await strict.close();

    const outbound = through(["git.internal"]);
    expect(await outbound.send("http://git.internal/a?b")).toMatchObject({ text: "by the proxy" });
    expect(seen.splice(0)).toEqual(["http://git.internal/a?b"]);
    await outbound.close();
  });

  test.each([
    ["127.0.0.1", false],
    ["127.0.0.1:1", true],
    ["*", false],
    ["other.example, *.0.1", false],
    ["example.com", true],
    ["[::1],::1", true],
  ])("with NO_PROXY=%j is sent to it: %s", async (NO_PROXY, isProxied) => {
    const outbound = through(["127.0.0.1"], { NO_PROXY });
    const { text } = await outbound.send(`${place.url}/path`);
    expect(text).toBe("by the proxy");
    expect(seen.splice(0)).toEqual([isProxied ? `${place.url}/path` : "/path"]);
    await outbound.close();
  });

  test.each([
    ["example.com", "https://example.com", true],
    ["example.com", "https://git.EXAMPLE.com.", true],
    [".example.com", "https://git.example.com", true],
    ["example.com", "https://notexample.com", false],
    ["example.com:443", "https://example.com", true],
    ["example.com:80", "https://example.com", false],
    ["::1", "https://[::1]:8443", true],
    ["[::1]:8443", "https://[::1]:8443", true],
    ["[::1]:8443", "https://[::1]", false],
    ["", "https://example.com", false],
  ])("NO_PROXY=%j and %s: %s", (noProxy, url, is) => {
    expect(isWithoutProxy(noProxy, new URL(url))).toBe(is);
  });
});

test("agents of node:http get the same proxies in their own form", () => {
  expect(nodeProxies({ NO_PROXY: "example.com" })).toBeUndefined();
  expect(
    nodeProxies({ http_proxy: "proxy:3128", NO_PROXY: "example.com, .b.example,10.0.0.1" }),
  ).toEqual({
    HTTP_PROXY: "http://proxy:3128/",
    HTTPS_PROXY: "http://proxy:3128/",
    NO_PROXY: "example.com,.example.com,.b.example,10.0.0.1",
  });
});
