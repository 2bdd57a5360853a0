/** Requests to a real server with TLS. */
import { createSecureServer } from "node:http2";
import { expect, test } from "vitest";
import * as undici from "undici";
import { Agent, request } from "../../common/http-client.ts";
import { scratch } from "../helpers/agent/agent-process.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import { listen } from "../helpers/network/listen.ts";

test("a server that offers HTTP/2 gets HTTP/1.1", async () => {
  using place = scratch();
  const { tls } = makeCertificate(place.path);
  const server = createSecureServer({ ...tls, allowHTTP1: true }, (incoming, response) => {
    response.end(incoming.httpVersion);
  });
  await using listening = await listen(server);
  const address = `https://127.0.0.1:${listening.port}/`;
  const dispatcher = new Agent({ connect: { ca: tls.cert } });
  try {
    const byUndici = await undici.request(address, { dispatcher });
    expect(await byUndici.body.text(), "what undici itself chooses").toBe("2.0");
    const byWindlass = await request(address, { dispatcher });
    expect(await byWindlass.body.text()).toBe("1.1");
  } finally {
    await dispatcher.destroy();
  }
});
