import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Agent } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Revocation } from "../../../agent/api/failures.ts";
import { jobApi } from "../../../agent/api/job-calls.ts";

const folder = mkdtempSync(join(tmpdir(), "job-calls-"));
const file = join(folder, "debug-log.gz");
const dispatcher = new Agent();
/** Cuts every connection, as a proxy does that takes no request of this size. */
const server = createServer(({ socket }) => {
  onCall();
  socket.destroy();
});
let onCall: () => void;

beforeAll(async () => {
  writeFileSync(file, "packed");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  await dispatcher.close();
  server.close();
  rmSync(folder, { recursive: true });
});

test("the upload of a debug log is given up if it fails while the server takes other calls", async () => {
  const revocation = new Revocation(30, () => undefined);
  let calls = 0;
  onCall = () => {
    calls++;
    // Before that the server is away, and failures do not count.
    if (calls > 20) revocation.accepted();
  };
  const api = jobApi(
    {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      headers: {},
      dispatcher,
      timeout: 30_000,
      revocation,
      log: pino({ level: "silent" }),
      retry: { first: 1, most: 1 },
    },
    "job",
  );
  await expect(api.uploadDebugLog(file)).rejects.toThrow("other side closed");
  expect(calls).toBe(25);
});
