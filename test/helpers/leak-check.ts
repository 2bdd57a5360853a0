/**
 * Runs around every test file: gives it a temporary directory of its own (os.tmpdir() answers it, children inherit it) and
 * fails the file when it ends with a file in there, a process that belongs to it, or a socket that still listens.
 * Processes are found by their working directory, arguments or environment, so also those that escaped their parent.
 */
import { chmodSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll } from "vitest";
import { processesOf } from "./processes.ts";

/** How long a process that was told to end may take to be gone. */
const grace = 5000;

const listening = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === "TCPServerWrap").length;
/** What an earlier file in the same process left behind has failed that file, and must not fail this one too. */
const listeningBefore = listening();

const outer = tmpdir();
const scratch = mkdtempSync(join(realpathSync(outer), "wl-"));
// An agent that is root runs its jobs as other users, who must get to their workspaces.
chmodSync(scratch, 0o711);
process.env["TMPDIR"] = scratch;
// A file that cannot be loaded runs no hook.
const removeScratch = () => rmSync(scratch, { recursive: true, force: true });
process.once("exit", removeScratch);

afterAll(async () => {
  process.env["TMPDIR"] = outer;
  const deadline = Date.now() + grace;
  let found = leftovers();
  while (found.length > 0 && Date.now() < deadline) {
    await sleep(50);
    found = leftovers();
  }
  removeScratch();
  process.off("exit", removeScratch);
  if (found.length > 0) throw new Error(`left behind by this test file:\n  ${found.join("\n  ")}`);
}, grace * 2);

function leftovers(): string[] {
  return [
    ...readdirSync(scratch).map((name) => `file ${name}`),
    ...processesOf(scratch).map((one) => `process ${one}`),
    ...Array.from({ length: listening() - listeningBefore }, () => "a listening socket"),
  ];
}
