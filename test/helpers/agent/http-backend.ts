/** A backend of type `http` in memory: one state, without locks. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** Starts it until the test ends. While `isBroken`, it refuses to store and has nothing. */
export async function httpBackend(isBroken = false) {
  const stored = { text: "", isBroken };
  const server = createServer((request, response) => {
    const isPost = request.method === "POST";
    void text(request).then((body) => {
      if (isPost && !stored.isBroken) stored.text = body;
      const isFound = isPost ? !stored.isBroken : stored.text !== "";
      response.writeHead(isFound ? 200 : 404).end(isPost ? "" : stored.text);
    });
  });
  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const block = `terraform {\n  backend "http" {\n    address = "http://127.0.0.1:${port}/"\n  }\n}\n`;
  return { stored, block };
}
