import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { root } from "../../helpers/project/source-files.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "cleaner-"));
  for (const name of ["logs", "data"]) {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, "file"), "");
  }
});

/** Starts a process in a session of its own. Resolves when it can be signalled. */
async function start(script: string, cwd = tmpdir()): Promise<ChildProcess> {
  const child = spawn("sh", ["-c", script], {
    cwd,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

const cleaner = (...more: string[]): ChildProcess => {
  const child = spawn(process.execPath, [join(root, "cli/demo/cleaner.ts"), directory, ...more], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return child;
};

async function end(child: ChildProcess, ...lines: string[]): Promise<number | null> {
  child.stdin?.end(lines.map((line) => `${line}\n`).join(""));
  await once(child, "exit");
  return child.exitCode;
}

describe("the cleaner, when its stdin ends", () => {
  it("stops the started processes in reverse order and removes the directory", async () => {
    const record = join(tmpdir(), "order");
    onTestFinished(() => rmSync(record, { force: true }));
    const recordsIts = (name: string) =>
      `trap 'echo ${name} >>${record}; exit' TERM; echo; while :; do sleep 0.01; done`;
    const first = await start(recordsIts("first"));
    const second = await start(recordsIts("second"));
    expect(await end(cleaner(), `start ${first.pid}`, `start ${second.pid}`)).toBe(0);
    expect(existsSync(directory)).toBe(false);
    expect([first.exitCode, second.exitCode]).toEqual([0, 0]);
    expect(readFileSync(record, "utf8")).toBe("second\nfirst\n");
  });

  it("keeps only the logs when they were asked for", async () => {
    expect(await end(cleaner(), "keep-logs")).toBe(0);
    expect(readdirSync(directory)).toEqual(["logs"]);
  });

  it("kills and removes nothing if all is kept", async () => {
    const stubborn = await start("trap '' TERM; echo; while :; do sleep 0.01; done");
    expect(await end(cleaner("50"), "keep", `start ${stubborn.pid}`)).toBe(0);
    expect([stubborn.exitCode, stubborn.signalCode]).toEqual([null, null]);
    expect(readdirSync(directory)).toEqual(["data", "logs"]);
  });

  it("kills a process that ignores SIGTERM, with its children", async () => {
    const stubborn = await start("trap '' TERM; sleep 1000 & echo; wait");
    expect(await end(cleaner("50"), `start ${stubborn.pid}`)).toBe(0);
    expect(stubborn.signalCode).toBe("SIGKILL");
  });

  it("kills a process that works in the directory and was not registered", async ({ skip }) => {
    skip(process.platform !== "linux", "needs Linux");
    const stray = await start("trap '' TERM; echo; exec sleep 1000", join(directory, "data"));
    expect(await end(cleaner())).toBe(0);
    expect(stray.signalCode).toBe("SIGKILL");
  });

  it("does not signal a process that was reported as ended", async () => {
    const bystander = await start("echo; exec sleep 1000");
    expect(await end(cleaner(), `start ${bystander.pid}`, `ended ${bystander.pid}`)).toBe(0);
    expect([bystander.exitCode, bystander.signalCode]).toEqual([null, null]);
  });
});
