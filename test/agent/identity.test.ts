/** An agent keeps its identity when the server's address changes, and trusts no other server. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { expect, test } from "vitest";
import { readConfig } from "../../agent/config.ts";
import { identify } from "../../agent/identity.ts";
import { addTestWorker } from "../helpers/plane/plane.ts";
import { addOwner } from "../helpers/plane/rows.ts";
import { folderForEachTest } from "../helpers/machine/folders.ts";
import { listen } from "../helpers/network/listen.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();
let workDir: string;
folderForEachTest((path) => {
  workDir = path;
});

const file = () => join(workDir, "identity.json");

function identifyAt(url: string, identity: { workerId: string; workerToken: string }) {
  const stored = { server: "https://before.example.com", ...identity };
  writeFileSync(file(), JSON.stringify(stored));
  const config = readConfig({ WINDLASS_URL: url, WINDLASS_WORK_DIR: workDir });
  const log = pino({ level: "silent" });
  return identify(config, "process", log, new AbortController().signal);
}

test("the identity is kept when the same server has a new address", async () => {
  const { id, headers } = await addTestWorker(plane, await addOwner(plane.context.store));
  const identity = { workerId: id, workerToken: headers["x-worker-token"] ?? "" };
  expect(await identifyAt(plane.url, identity)).toMatchObject(identity);
  expect(JSON.parse(readFileSync(file(), "utf8"))).toEqual({ server: plane.url, ...identity });

  const forged = { ...identity, workerToken: "wlw_of-another-server" };
  await expect(identifyAt(plane.url, forged)).rejects.toThrow("does not prove to be the same");
});

test("the settings take precedence over the identity in the work directory", async () => {
  const stored = { server: plane.url, workerId: "stored", workerToken: "replaced" };
  writeFileSync(file(), JSON.stringify(stored));
  const config = readConfig({
    WINDLASS_URL: plane.url,
    WINDLASS_WORK_DIR: workDir,
    WINDLASS_WORKER_ID: "stored",
    WINDLASS_WORKER_TOKEN: "new",
  });
  const log = pino({ level: "silent" });
  const known = await identify(config, "process", log, new AbortController().signal);
  expect(known).toEqual({ workerId: "stored", workerToken: "new" });
});

test.each([
  ["gives a wrong proof", 200, '{"proof":"wrong"}'],
  ["has no endpoint for proofs", 404, "not found"],
])("a server that %s never gets the token", async (_, status, body) => {
  let seen = "";
  const server = createServer((request, response) => {
    seen += JSON.stringify([request.url, request.headers]);
    request.on("data", (part) => (seen += String(part)));
    request.on("end", () => response.writeHead(status).end(body));
  });
  await using listening = await listen(server);
  const identity = { workerId: crypto.randomUUID(), workerToken: "wlw_secret" };
  await expect(identifyAt(listening.url, identity)).rejects.toThrow("WINDLASS_REGISTRATION_TOKEN");
  expect(seen).toContain(identity.workerId);
  expect(seen).not.toContain("wlw_secret");
  expect(JSON.parse(readFileSync(file(), "utf8"))).toMatchObject({
    server: "https://before.example.com",
  });
});
