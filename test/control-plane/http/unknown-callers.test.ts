/** How much of the server's memory callers can take with requests that never end. */
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import Fastify from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { boundPendingConnections } from "../../../control-plane/http/pending-connections.ts";
import { arrivingBodies, jsonLimits } from "../../../control-plane/http/arriving-bodies.ts";
import { clientHeaders } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { sendRaw } from "./raw-http.ts";
import { addOwner } from "../../helpers/plane/rows.ts";

const { plane } = planeForFile();
const mebibyte = 1024 ** 2;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function open(url: string, text = ""): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  if (text !== "") socket.write(text);
  return socket;
}

describe("a request without a credential", () => {
  const paths = ["/api/auth/cli/exchange", "/api/auth/cli/refresh", "/api/workers/proof"];

  test.each(paths)("%s may have a small body only", async (path) => {
    const send = (body: string, headers = `content-length: ${body.length}`) =>
      sendRaw(plane, [
        `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${body}`,
      ]);
    const body = (length: number) => `{"padding":"${"a".repeat(length)}"}`;
    expect((await send(body(9 * 1024))).status).toBe(413);
    const chunk = body(9 * 1024);
    const chunked = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
    expect((await send(chunked, "transfer-encoding: chunked")).status).toBe(413);
    expect((await send(body(4 * 1024))).status).toBe(400);
  });
});

describe("connections without a credential", () => {
  const served = async (limit: number) => {
    const app = Fastify();
    app.decorateRequest("caller", null);
    boundPendingConnections(app, limit);
    app.addHook("onRequest", async (request) => {
      request.caller = request.headers.authorization ?? null;
    });
    app.get("/", async () => "here");
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return { app, url };
  };

  test("are closed beyond the limit, the oldest first, and the others are served", async () => {
    const { app, url } = await served(5);
    const known = await open(url, "GET / HTTP/1.1\r\nhost: x\r\nauthorization: yes\r\n\r\n");
    await once(known, "data");
    const unknown = [];
    for (let count = 0; count < 8; count += 1) unknown.push(await open(url));
    for (const socket of unknown.slice(0, 3)) if (!socket.closed) await once(socket, "close");
    expect(unknown.map(({ closed }) => closed)).toEqual(unknown.map((_, index) => index < 3));
    expect(known.closed).toBe(false);
    known.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(known, "data");
    unknown[7]?.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const [answer] = (await once(unknown[7]!, "data")) as [Buffer];
    expect(answer.toString()).toContain("200 OK");
    for (const socket of sockets.splice(0)) socket.destroy();
    await app.close();
  });
});

describe("bodies that are arriving", () => {
  test("of one user are refused beyond a limit, and those of others are not", async () => {
    const [one, other] = [await addOwner(plane.context.store), await addOwner(plane.context.store)];
    const begun = async (owner: typeof one) => {
      const { authorization } = await clientHeaders(plane, owner);
      const socket = await open(
        plane.url,
        `POST /api/cli/configurations HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: ${4 * mebibyte}\r\n\r\n`,
      );
      const answer = new Promise<string>((resolve) => {
        socket.once("data", (data: Buffer) => resolve(data.toString()));
      });
      const sent = new Promise<string>((resolve) => {
        socket.write(" ".repeat(4 * mebibyte - 1), () => resolve("sent"));
      });
      return { answer, first: await Promise.race([sent, answer]) };
    };
    const most = jsonLimits.one / (4 * mebibyte);
    const requests = [];
    for (let count = 0; count < most + 1; count += 1) requests.push(await begun(one));
    const refused = await Promise.race(requests.map(({ answer }) => answer));
    expect(refused).toMatch(/^HTTP\/1\.1 503 [^]*"code":"unavailable"/);
    expect((await begun(other)).first).toBe("sent");
  });

  test("give their memory back, and have a limit together", () => {
    const begin = arrivingBodies(jsonLimits);
    const user = (id: number) => ({ user_id: `user ${id}` });
    const bodies = Array.from({ length: 4 }, (_, id) => begin(user(id), Infinity));
    for (const body of bodies) expect(body?.receive(jsonLimits.one)).toBe(true);
    expect(bodies.length * jsonLimits.one).toBe(jsonLimits.all);
    expect(bodies[0]?.receive(1)).toBe(false);
    expect(begin({ owner_id: "another" }, 10)).toBeUndefined();
    bodies[0]?.end();
    bodies[0]?.end();
    expect(begin(user(0), Infinity)?.receive(jsonLimits.one)).toBe(true);
    expect(begin(user(5), 10)).toBeUndefined();
  });
});
