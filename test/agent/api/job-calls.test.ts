import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { Agent } from "undici";
import { afterAll, expect, test } from "vitest";
import { Revocation } from "../../../agent/api/failures.ts";
import { jobApi } from "../../../agent/api/job-calls.ts";
import { listen } from "../../helpers/network/listen.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";

const file = join(folderForFile(), "debug-log.gz");
const dispatcher = new Agent();
/** Closes every connection, as a proxy does that refuses requests of this size. */
const server = createServer(({ socket }) => {
  onCall();
  socket.destroy();
});
let onCall: () => void;
afterAll(() => dispatcher.close());

test("the upload of a debug log stops after five failures while other calls succeed", async () => {
  writeFileSync(file, "packed");
  await using listening = await listen(server);
  const revocation = new Revocation(30, () => undefined);
  let calls = 0;
  onCall = () => {
    calls++;
    // No call has succeeded before, so the first failures do not count.
    if (calls > 20) revocation.accepted();
  };
  const api = jobApi(
    {
      server: listening.url,
      headers: {},
      dispatcher,
      timeout: 30_000,
      known: { reportsTime: false },
      revocation,
      log: pino({ level: "silent" }),
      retry: { first: 1, most: 1 },
    },
    "job",
  );
  await expect(api.uploadDebugLog(file)).rejects.toBeInstanceOf(Error);
  expect(calls).toBe(25);
});
