/** The two servers that a figure compares, each a real process, and their CPU time. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { token } from "./fill.ts";
import type { PrototypeWorkers } from "./prototype.ts";

const root = join(import.meta.dirname, "../..");

/** The flags and settings of malloc with which bin/windlass starts an agent. */
export const agentFlags = [
  "--max-semi-space-size=1",
  "--max-old-space-size=96",
  "--no-node-snapshot",
  "--expose-gc",
  "--liftoff-only",
  "--invocation-count-for-turbofan=60000",
  "--invocation-count-for-osr=10000",
];

export const agentMalloc = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_TRIM_THRESHOLD_: "65536",
  MALLOC_MMAP_THRESHOLD_: "65536",
};

export interface BenchServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts `windlass server` with a data directory of its own, which `prepare` may fill before. */
export async function startWindlass(
  prepare: (dataDirectory: string) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchServer> {
  return (await startServer(prepare, settings, [])).server;
}

/** Starts it with a debugger. */
export const startProfiled = (prepare: (dataDirectory: string) => Promise<void>) =>
  startServer(prepare, {}, ["--inspect=127.0.0.1:0"]);

async function startServer(
  prepare: (dataDirectory: string) => Promise<void>,
  settings: Readonly<Record<string, string>>,
  flags: readonly string[],
): Promise<{ readonly server: BenchServer; readonly debuggerUrl: string }> {
  const dataDirectory = mkdtempSync(join(tmpdir(), "windlass-bench-"));
  await prepare(dataDirectory);
  const child = spawn(process.execPath, [...flags, join(root, "main.ts"), "server"], {
    env: {
      PATH: process.env["PATH"],
      WINDLASS_DATA_DIR: dataDirectory,
      WINDLASS_PORT: "0",
      WINDLASS_LOG_FORMAT: "json",
      WINDLASS_TEST_LIMITS: '{"streamsPerPerson": 1000}',
      WINDLASS_QUOTA_QUEUED_JOBS: "1000000",
      // What is beyond it is not stored.
      WINDLASS_QUOTA_LOG_MIB: "100000",
      ...settings,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let debuggerUrl = "";
  const url = await firstMatch(child, child.stderr, /"url":"([^"]+)"/, (line) => {
    debuggerUrl = /Debugger listening on (ws:\S+)/.exec(line)?.[1] ?? debuggerUrl;
  });
  const clean = () => rmSync(dataDirectory, { recursive: true, force: true });
  return { server: serverOf(child, url, clean), debuggerUrl };
}

/** The compile cache that a bench has set, for the programs that it starts. */
export const compileCache = (): Record<string, string> => {
  const { NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
};

/** Starts `windlass agent` as a worker of the filled store. */
export function startAgent(
  url: string,
  worker: string,
  workDirectory: string,
  settings: Readonly<Record<string, string>> = {},
  program = join(root, "bin/windlass"),
): ChildProcess {
  return spawn(program, ["agent"], {
    env: {
      PATH: process.env["PATH"],
      ...compileCache(),
      WINDLASS_URL: url,
      WINDLASS_WORKER_ID: worker,
      WINDLASS_WORKER_TOKEN: token,
      WINDLASS_WORK_DIR: workDirectory,
      // As root an agent must be told.
      WINDLASS_ISOLATION: "process",
      WINDLASS_LOG_LEVEL: "error",
      WINDLASS_LOG_FORMAT: "json",
      ...settings,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

export async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGTERM");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Starts the baseline: a Fastify server with one route that does nothing. */
export async function startNoop(): Promise<BenchServer> {
  const program = `
    import Fastify from "fastify";
    const app = Fastify();
    app.post("/noop", async () => ({ ok: true }));
    console.log(await app.listen({ port: 0 }));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await firstMatch(child, child.stdout, /(http:\S+)/);
  return serverOf(child, `${url}/noop`, () => undefined);
}

/** Starts the prototype, with queued jobs for the worker that claims. */
export async function startPrototype(
  queued: number,
  workers: PrototypeWorkers,
): Promise<BenchServer> {
  const directory = mkdtempSync(join(tmpdir(), "windlass-prototype-"));
  writeFileSync(join(directory, "workers.json"), JSON.stringify(workers));
  const program = join(import.meta.dirname, "prototype.ts");
  const words = [program, directory, token, String(queued)];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  const url = await firstMatch(child, child.stdout, /(http:\S+)/);
  return serverOf(child, url, () => rmSync(directory, { recursive: true, force: true }));
}

/** CPU microseconds of all threads of a process (Linux: nanosecond clock of the scheduler). */
export function cpuMicroseconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
  );
  return times.reduce((sum, time) => sum + time, 0) / 1000;
}

function serverOf(child: ChildProcess, url: string, clean: () => void): BenchServer {
  return {
    url,
    pid: child.pid!,
    stop: async () => {
      await stop(child);
      clean();
    },
  };
}

async function firstMatch(
  child: ChildProcess,
  stream: NodeJS.ReadableStream,
  pattern: RegExp,
  onLine: (line: string) => void = () => undefined,
): Promise<string> {
  const seen: string[] = [];
  for await (const line of createInterface(stream)) {
    onLine(line);
    const match = pattern.exec(line)?.[1];
    if (match !== undefined) {
      stream.resume();
      return match;
    }
    seen.push(line);
  }
  throw new Error(`the server did not start (exit ${child.exitCode}):\n${seen.join("\n")}`);
}
