/**
 * Runs around every test file: gives it its own temporary directory (os.tmpdir() returns it, child
 * processes inherit it) and fails the file if it leaves a file there, a process that belongs to it,
 * or a listening socket. Processes are found by working directory, arguments or environment, so
 * also those that left their parent. They are killed, because the run ends only when nothing holds
 * its output open.
 */
import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, type RunnerTask } from "vitest";
import { killProcessesOf, processesOf } from "../machine/processes.ts";

/**
 * How many milliseconds a process may take to end after its signal: twice what the agent's listener
 * takes between two looks at commands that ran on without their agent.
 */
const grace = 10_000;

const listening = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === "TCPServerWrap").length;
/**
 * A socket that an earlier file in this process left open has failed that file, and must not fail
 * this one.
 */
const listeningBefore = listening();

const outer = tmpdir();
const scratch = mkdtempSync(join(realpathSync(outer), "wl-"));
// An agent that runs as root runs its jobs as other users, who must reach their workspaces.
chmodSync(scratch, 0o711);
process.env["TMPDIR"] = scratch;
// A file that cannot be loaded runs no hook.
const removeScratch = () => rmSync(scratch, { recursive: true, force: true });
process.once("exit", removeScratch);

// oxlint-disable-next-line no-empty-pattern -- vitest gives the file as the second argument
afterAll(async ({}, file) => {
  process.env["TMPDIR"] = outer;
  const deadline = Date.now() + grace;
  let found = leftovers();
  while (found.length > 0 && Date.now() < deadline) {
    await sleep(50);
    found = leftovers();
  }
  killProcessesOf(scratch);
  if (found.length > 0 && !exceededItsTime(file))
    throw new Error(`left behind by this test file:\n  ${found.join("\n  ")}`);
  removeScratch();
  process.off("exit", removeScratch);
}, grace * 2);

/**
 * An attempt that exceeded its time limit goes on, so it leaves something behind whatever the next
 * attempt does. The summary names it with its error.
 */
function exceededItsTime(task: Readonly<RunnerTask>): boolean {
  const { retryCount = 0, errors = [] } = task.result ?? {};
  const isLate = errors.some(({ message }) => message.startsWith("Test timed out"));
  return (retryCount > 0 && isLate) || ("tasks" in task && task.tasks.some(exceededItsTime));
}

function leftovers(): string[] {
  return [
    ...readdirSync(scratch).map((name) => `file ${name}`),
    ...processesOf(scratch).map((one) => `process ${one}`),
    ...Array.from({ length: listening() - listeningBefore }, () => "a listening socket"),
  ];
}
