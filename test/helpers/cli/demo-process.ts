/** `windlass demo` in its own temporary directory, which must be empty at its end. */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi, type TestContext } from "vitest";
import { processesOf } from "../machine/processes.ts";
import { windlass } from "./windlass.ts";

/** A temporary directory, in which the demo must leave nothing. */
export function newHome({ onTestFinished }: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "demo-"));
  // For the users that jobs run as.
  chmodSync(home, 0o711);
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** What is left right after the end of the demo: files and processes. */
export const leftIn = (home: string): string[] => [...readdirSync(home), ...processesOf(home)];

/** Starts a demo with its own temporary directory. */
export function startDemo(context: TestContext) {
  const home = newHome(context);
  const run = windlass(["demo"], {
    env: { TMPDIR: home, FORCE_COLOR: undefined },
    // It cleans up at its end, so no SIGKILL may follow the signals of these tests.
    forceKillAfterDelay: false,
  });
  let output = "";
  run.stdout?.on("data", (data: Buffer) => (output += data.toString()));
  return {
    run,
    home,
    shows: (text: string | RegExp) =>
      vi.waitFor(() => expect(output).toMatch(text), { timeout: 120_000, interval: 20 }),
    left: () => leftIn(home),
  };
}
