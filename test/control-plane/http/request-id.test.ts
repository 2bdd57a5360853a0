/**
 * X-Request-Id: adopted if well formed, else generated; on every response, in every problem, and on
 * every log line about the request.
 */
import { request as rawRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readConfig } from "../../../control-plane/config.ts";
import { startServer, type RunningServer } from "../../../control-plane/server.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

let server: RunningServer;
const directory = folderForFile();
const lines: Record<string, unknown>[] = [];
beforeAll(async () => {
  const log = pino(
    { level: "debug" },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const config = readConfig({ WINDLASS_DATA_DIR: directory, WINDLASS_PORT: "0" });
  server = await startServer(config, log);
});
afterAll(() => server.close());

/** Sends the header values byte for byte, one byte for each character. */
async function ask(path: string, ids: string[]) {
  const sent = rawRequest(server.url + path, { agent: false });
  if (ids.length > 0) sent.setHeader("x-request-id", ids);
  sent.end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of answer.setEncoding("utf8")) text += String(part);
  return { id: answer.headers["x-request-id"], status: answer.statusCode, text };
}

const made = /^[0-9a-f]{12}-[0-9a-z]+$/;

describe("the id of a request", () => {
  it.each([
    "a",
    "A-1_b.c:d",
    "x".repeat(100),
    "7f3a5c0e91b2-2s",
    "00000000-0000-4000-8000-000000000000",
  ])("%s is adopted into response, problem and log", async (id) => {
    const { id: answered, text } = await ask("/api/cli/zones", [id]);
    expect(answered).toBe(id);
    expect(JSON.parse(text)).toMatchObject({ code: "unauthenticated", request_id: id });
    await eventually(() =>
      expect(lines.find(({ request_id }) => request_id === id)).toMatchObject({
        route: "/api/cli/zones",
        status: 401,
      }),
    );
  });

  it.each([
    [[]],
    [[""]],
    [["x".repeat(101)]],
    [["a b"]],
    [["a\tb"]],
    [['","level":60,"msg":"forged']],
    [["<script>"]],
    [["../../etc"]],
    [["\u00e9"]],
    [["\u001b[31m".replace("\u001b", "\u009b")]],
    [["one", "two"]],
  ])("%j is replaced by a generated one", async (ids) => {
    const { id, text } = await ask("/api/cli/zones", ids);
    expect(id).toMatch(made);
    expect(JSON.parse(text)).toMatchObject({ request_id: id });
    await eventually(() => expect(lines.some(({ request_id }) => request_id === id)).toBe(true));
    const written = JSON.stringify(lines);
    for (const given of ids) if (given.length > 3) expect(written).not.toContain(given);
  });

  it("is unique, also on requests that are refused before routing", async () => {
    const answers = await Promise.all(
      ["/%zz", "/nowhere", "/healthz"].map((path) => ask(path, [])),
    );
    expect(answers.map(({ status }) => status)).toEqual([400, 404, 200]);
    for (const { id } of answers) expect(id).toMatch(made);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(3);
  });

  it("cannot be injected after a bare line feed", async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\nX-Other: b\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 400 /);
    socket.destroy();
  });
});

describe("X-Forwarded-For from an untrusted address", () => {
  it("causes one warning", async () => {
    const warnings = () =>
      lines.filter(({ msg }) => String(msg).startsWith("ignoring X-Forwarded-For"));
    expect(warnings()).toEqual([]);
    for (let n = 0; n < 3; n += 1) {
      const sent = rawRequest(`${server.url}/healthz`, { agent: false });
      sent.setHeader("x-forwarded-for", "192.0.2.1").end();
      await once(sent, "response");
    }
    await eventually(() => expect(warnings()).toMatchObject([{ level: 40, address: "127.0.0.1" }]));
  });
});

/** Waits for a condition that a busy machine may take long to reach. */
const eventually = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 10_000 });
