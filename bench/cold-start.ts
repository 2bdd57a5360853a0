/**
 * The cold start of server and agent: from the start of the process until the server is ready, on an
 * empty directory and on one that it has used before, and until the agent's first claim arrives, as
 * ratios to a bare Node start in the same run. Both are those of a build, as operators install it.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildWindlass } from "./lib/build.ts";
import { compileCache, startAgent, stop } from "./lib/processes.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 7;
const directory = mkdtempSync(join(tmpdir(), "windlass-bench-"));
const windlass = await buildWindlass(directory);

let isClaimed = () => undefined as void;
const api = createServer((request, response) => {
  if (request.url!.startsWith("/api/jobs/claim")) {
    isClaimed();
    return;
  }
  response.setHeader("content-type", "application/json");
  response.end('{"heartbeat_interval_seconds":30,"cancelled_job_ids":[]}');
}).listen(0, "127.0.0.1");
await once(api, "listening");
const address = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;

const since = async (begun: number, end: Promise<unknown>): Promise<number> => {
  await end;
  return performance.now() - begun;
};

async function startNode(): Promise<number> {
  const begun = performance.now();
  return since(begun, once(spawn(process.execPath, ["--eval", ""]), "exit"));
}

async function startServer(dataDirectory: string): Promise<number> {
  const begun = performance.now();
  const child = spawn(windlass, ["server"], {
    env: {
      PATH: process.env["PATH"],
      HOME: directory,
      WINDLASS_DATA_DIR: dataDirectory,
      WINDLASS_PORT: "0",
      WINDLASS_LOG_FORMAT: "json",
      ...compileCache(),
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const took = await since(begun, printed(child, /"url":"/));
  await stop(child);
  return took;
}

function printed(child: ChildProcess, pattern: RegExp): Promise<void> {
  let text = "";
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error(`the server did not start:\n${text}`)));
    child.stderr!.on("data", (data) => {
      text += data;
      if (pattern.test(text)) resolve();
    });
  });
}

async function startFirstClaim(): Promise<number> {
  const claimed = new Promise<void>((resolve) => (isClaimed = resolve));
  const begun = performance.now();
  const agent = startAgent(
    address,
    "019a0000-0000-7000-8000-000000000000",
    join(directory, "agent"),
    {},
    windlass,
  );
  const took = await since(begun, claimed);
  api.closeAllConnections();
  agent.kill("SIGKILL");
  await once(agent, "exit");
  return took;
}

const kinds = {
  "server, empty directory, until it is ready": () =>
    startServer(mkdtempSync(join(directory, "server-"))),
  "server, used directory, until it is ready": () => startServer(join(directory, "used")),
  "agent, until its first claim arrives": startFirstClaim,
};
try {
  const times = new Map(["node", ...Object.keys(kinds)].map((name) => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round += 1)
    for (const [name, start] of Object.entries({ node: startNode, ...kinds })) {
      const took = await start();
      // The first round fills the compile cache.
      if (round > 0) times.get(name)!.push(took);
    }
  const node = times.get("node")!;
  const goals = [25, 20, 10];
  printTable(
    "Cold start / a bare Node start",
    Object.keys(kinds).map((what, at): Figure => {
      const own = times.get(what)!;
      return {
        row: "24",
        what,
        value: median(own.map((time, round) => time / node[round]!)),
        goal: goals[at]!,
        better: "smaller",
        more: `${median(own).toFixed(0)} ms, Node ${median(node).toFixed(0)} ms`,
      };
    }),
  );
} finally {
  api.close();
  rmSync(directory, { recursive: true, force: true });
}
