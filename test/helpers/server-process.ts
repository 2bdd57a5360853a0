/** Runs `windlass server` as an operator does: a process of its own over a data directory, to be killed and started again. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { request } from "undici";
import { readConfig } from "../../control-plane/config.ts";
import { createLink } from "../../control-plane/services/people/logins.ts";
import { openSqlite } from "../../control-plane/store/engines/sqlite.ts";
import { bin } from "./windlass.ts";

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number;
  /** Resolves with its address when `/readyz` says 200; rejects when it ends before. */
  readonly ready: Promise<string>;
  /** How long that took, from the start of the process. */
  readyMilliseconds(): number;
  /** How much of it was work of its own: what other programs of the machine do is not in it. Linux only, elsewhere 0. */
  readyCpuMilliseconds(): number;
  /** Resolves at its end with the exit code; null after a kill. */
  readonly exited: Promise<number | null>;
  /** What it wrote to stderr: JSON lines. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
}

/** Starts one on a free port; where a file is named, its log goes there. */
export function spawnServer(
  directory: string,
  settings: Readonly<Record<string, string>> = {},
  logFile?: string,
): ServerProcess {
  const stderr = logFile === undefined ? "pipe" : openSync(logFile, "w");
  const startedAt = performance.now();
  const child = spawn(bin, ["server"], {
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
  // Whoever kills it before it is ready does not wait for it.
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

/** The path of a new one-time link, made as `windlass server login-link` makes it. */
export async function newLink(directory: string): Promise<string> {
  const store = await openSqlite(readConfig({ WINDLASS_DATA_DIR: directory }).databaseFile);
  try {
    return `/login/link/${await createLink(store, "ada@example.com", Date.now())}`;
  } finally {
    await store.close();
  }
}
