/** Starts the agent as a user does. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bin } from "../cli/windlass.ts";

export interface AgentProcess extends AsyncDisposable {
  readonly pid: number;
  /** Its log, written to stderr. */
  log(): string;
  kill(signal?: NodeJS.Signals): void;
  /** Resolves with the exit code; null after a kill. */
  readonly exited: Promise<number | null>;
}

/**
 * Runs `windlass agent` with these settings and a heartbeat every second; `user`: as this user,
 * without privileges; `program`: another release's `bin/windlass`.
 */
export function startAgent(
  settings: Readonly<Record<string, string>>,
  user?: number,
  program = bin,
): AgentProcess {
  const become = [`--reuid=${user}`, `--regid=${user}`, "--clear-groups", "--no-new-privs", "--"];
  const [command, ...args] = [
    ...(user === undefined ? [] : ["setpriv", ...become]),
    program,
    "agent",
  ];
  const child = spawn(command, args, {
    env: {
      PATH: process.env["PATH"],
      TMPDIR: tmpdir(),
      WINDLASS_HEARTBEAT_SECONDS: "1",
      WINDLASS_LOG_FORMAT: "json",
      ...settings,
    },
    stdio: ["ignore", "inherit", "pipe"],
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const exited = once(child, "exit").then(([code]) => code as number | null);
  return {
    pid: child.pid ?? 0,
    log: () => log,
    kill: (signal) => child.kill(signal),
    exited,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** A directory that is removed after the test. */
export function scratch(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "agent-"));
  // For the users that jobs run as.
  chmodSync(path, 0o711);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * Waits until `what` returns a value. A test that waits too long ends by its own time limit.
 * Looking at all processes takes milliseconds, so the pause grows with the time of a look: waiting
 * costs at most a tenth of a core.
 */
export async function until<T>(what: () => T | false | undefined): Promise<T> {
  for (;;) {
    const startedAt = performance.now();
    const answer = what();
    if (answer !== false && answer !== undefined) return answer;
    await sleep(Math.max(20, 9 * (performance.now() - startedAt)));
  }
}
