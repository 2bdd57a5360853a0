/**
 * Runs around every test file: gives it a temporary directory of its own (os.tmpdir() answers it, children inherit it) and
 * fails the file when it ends with a file in there, a process that belongs to it, or a socket that still listens.
 * Processes are found by their working directory, arguments or environment, so also those that escaped their parent.
 */
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll } from "vitest";

/** How long a process that was told to end may take to be gone. */
const grace = 5000;

const outer = tmpdir();
const scratch = mkdtempSync(join(realpathSync(outer), "wl-"));
process.env["TMPDIR"] = scratch;

afterAll(async () => {
  process.env["TMPDIR"] = outer;
  const deadline = Date.now() + grace;
  let found = leftovers();
  while (found.length > 0 && Date.now() < deadline) {
    await sleep(50);
    found = leftovers();
  }
  rmSync(scratch, { recursive: true, force: true });
  if (found.length > 0) throw new Error(`left behind by this test file:\n  ${found.join("\n  ")}`);
}, grace * 2);

function leftovers(): string[] {
  return [
    ...readdirSync(scratch).map((name) => `file ${name}`),
    ...processesOf(scratch).map((one) => `process ${one}`),
    ...process
      .getActiveResourcesInfo()
      .filter((kind) => kind === "TCPServerWrap")
      .map(() => "a listening socket"),
  ];
}

/** Linux only, where the checks run; elsewhere there is no /proc to read. */
function processesOf(directory: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      const command = read(() => readFileSync(`/proc/${pid}/cmdline`, "latin1"));
      const rest = [
        read(() => readFileSync(`/proc/${pid}/environ`, "latin1")),
        read(() => readlinkSync(`/proc/${pid}/cwd`)),
      ];
      return [command, ...rest].some((text) => text.includes(directory))
        ? [`${pid}: ${command.replaceAll("\0", " ").trim().slice(0, 300)}`]
        : [];
    });
}

/** A process may end, or belong to somebody else, while it is looked at: then it says nothing about itself. */
function read(what: () => string): string {
  try {
    return what();
  } catch {
    return "";
  }
}
