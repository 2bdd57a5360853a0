/**
 * Runs `windlass server` as an operator does: its own process over a data directory, which can be
 * killed and started again.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { request } from "undici";
import { readConfig } from "../../../control-plane/config.ts";
import { createLink } from "../../../control-plane/services/people/logins.ts";
import { openSqlite } from "../../../control-plane/store/engines/sqlite.ts";
import { bin } from "../cli/windlass.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves with its address when `/readyz` returns 200. Rejects if it ends before. */
  readonly ready: Promise<string>;
  /** How many milliseconds that took from the start of the process. */
  readyMilliseconds(): number;
  /**
   * The CPU time of the process until then, which other programs do not affect. Linux only,
   * elsewhere 0.
   */
  readyCpuMilliseconds(): number;
  /** Resolves with the exit code; null after a kill. */
  readonly exited: Promise<number | null>;
  /** Its log on stderr, in JSON lines. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Starts a server on a free port. Its log is written to `logFile` if that is given. `program` is
 * another release's `bin/windlass`.
 */
export function spawnServer(
  directory: string,
  settings: Readonly<Record<string, string>> = {},
  { logFile, program = bin }: { logFile?: string; program?: string } = {},
): ServerProcess {
  const stderr = logFile === undefined ? "pipe" : openSync(logFile, "w");
  const startedAt = performance.now();
  const child = spawn(program, ["server"], {
    env: {
      PATH: process.env["PATH"],
      TMPDIR: tmpdir(),
      WINDLASS_DATA_DIR: directory,
      WINDLASS_PORT: "0",
      WINDLASS_LOG_FORMAT: "json",
      ...settings,
    },
    stdio: ["ignore", "inherit", stderr],
  });
  if (typeof stderr === "number") closeSync(stderr);
  let piped = "";
  const log = () => (logFile === undefined ? piped : readFileSync(logFile, "utf8"));
  const exited = once(child, "close").then(([code]) => code as number | null);
  const listening = new Promise<string>((resolve, reject) => {
    let url: string | undefined;
    const look = () => {
      url ??= /"url":"([^"]+)"/.exec(log())?.[1];
      if (url === undefined) return;
      clearInterval(looking);
      resolve(url);
    };
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      piped += text;
      look();
    });
    const looking = setInterval(() => logFile && look(), 20);
    void exited.then((code) => {
      clearInterval(looking);
      if (url === undefined) reject(new Error(`the server ended (${code}):\n${log()}`));
    });
  });
  let readyMilliseconds = NaN;
  let readyCpuMilliseconds = NaN;
  const ready = listening.then(async (url) => {
    await untilReady(url);
    readyMilliseconds = performance.now() - startedAt;
    readyCpuMilliseconds = cpuMilliseconds(child.pid ?? 0);
    return url;
  });
  // A test that kills the server before it is ready does not await `ready`.
  ready.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    ready,
    readyMilliseconds: () => readyMilliseconds,
    readyCpuMilliseconds: () => readyCpuMilliseconds,
    exited,
    log,
    kill: (signal) => child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** User and system time, which Linux counts in hundredths of a second. */
function cpuMilliseconds(pid: number): number {
  if (process.platform !== "linux") return 0;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function untilReady(url: string): Promise<void> {
  for (;;) {
    const { statusCode, body } = await request(`${url}/readyz`);
    await body.dump();
    if (statusCode === 200) return;
  }
}

/** Returns the path of a new one-time link, as `windlass server login-link` creates it. */
export async function newLink(directory: string): Promise<string> {
  const store = await openSqlite(readConfig({ WINDLASS_DATA_DIR: directory }).databaseFile);
  try {
    return `/login/link/${await createLink(store, "ada@example.com", Date.now())}`;
  } finally {
    await store.close();
  }
}
