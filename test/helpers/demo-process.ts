/** `windlass demo` in a temporary directory of its own, which must be empty at its end. */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi, type TestContext } from "vitest";
import { processesOf } from "./processes.ts";
import { windlass } from "./windlass.ts";

/** A temporary directory, in which nothing may be left. */
export function newHome({ onTestFinished }: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), "demo-"));
  // For the users that jobs run as.
  chmodSync(home, 0o711);
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Right after its end: the directory is gone and so is everybody who worked in it. */
export const leftIn = (home: string): string[] => [...readdirSync(home), ...processesOf(home)];

/** A demo with a temporary directory of its own. */
export function startDemo(context: TestContext) {
  const home = newHome(context);
  const run = windlass(["demo"], {
    env: { TMPDIR: home, FORCE_COLOR: undefined },
    // It has things to clean up: no SIGKILL behind the signals of these tests.
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
