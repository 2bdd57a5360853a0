import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockDirectory, LockHeldError, LockUnavailableError } from "../../../agent/machine/lock.ts";
import { identityOf } from "../../../agent/machine/process-identity.ts";
import { root } from "../../helpers/project/source-files.ts";
import { folderForEachTest } from "../../helpers/machine/folders.ts";

let folder: string;
folderForEachTest((path) => {
  folder = path;
});

test("a held lock is refused, and a released lock can be taken", async () => {
  const release = await lockDirectory(folder);
  await expect(lockDirectory(folder)).rejects.toThrow(LockHeldError);
  release();
  expect(existsSync(join(folder, "lock"))).toBe(false);
  (await lockDirectory(folder))();
});

test("concurrent callers hold the lock one at a time", async () => {
  let holders = 0;
  let turns = 0;
  const take = async (): Promise<void> => {
    for (;;) {
      const release = await lockDirectory(folder).catch(() => undefined);
      if (!release) continue;
      expect(++holders).toBe(1);
      await Promise.resolve();
      holders--;
      turns++;
      return release();
    }
  };
  await Promise.all(Array.from({ length: 5 }, take));
  expect(turns).toBe(5);
});

/** Locks the directory, starts a process that outlives it, and prints that process's pid. */
const holding = `
  const { lockDirectory } = await import(${JSON.stringify(join(root, "agent/machine/lock.ts"))});
  const { spawn } = await import("node:child_process");
  await lockDirectory(process.argv[1]);
  const child = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
  process.stdout.write(String(child.pid));
  setInterval(() => undefined, 1000);
`;
const nodeHolding = ["--input-type=module", "--eval", holding];

test("the lock of a killed process is free, even while its children run", async () => {
  const holder = spawn(process.execPath, [...nodeHolding, folder]);
  const [pid] = (await once(holder.stdout.setEncoding("utf8"), "data")) as [string];
  try {
    await expect(lockDirectory(folder)).rejects.toThrow(`another agent (pid ${holder.pid} on `);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect(identityOf(Number(pid))).toBeDefined();
    (await lockDirectory(folder))();
  } finally {
    holder.kill("SIGKILL");
    process.kill(Number(pid), "SIGKILL");
  }
});

const unshare = ["--pid", "--mount-proc", "--fork", "--kill-child"];
const canUnshare = spawnSync("unshare", [...unshare, "true"]).status === 0;

test("the lock of a process in another PID namespace is refused", async ({ skip }) => {
  skip(!canUnshare, "unshare may not make a PID namespace");
  const holder = spawn("unshare", [...unshare, process.execPath, ...nodeHolding, folder]);
  try {
    await once(holder.stdout, "data");
    await expect(lockDirectory(folder)).rejects.toThrow(LockHeldError);
  } finally {
    // When the first process of a PID namespace ends, the kernel kills the others.
    holder.kill("SIGKILL");
    await once(holder, "close");
  }
});

test("without the program flock the error names the package to install", async () => {
  const { PATH } = process.env;
  process.env["PATH"] = folder;
  try {
    await expect(lockDirectory(folder)).rejects.toThrow(LockUnavailableError);
    await expect(lockDirectory(folder)).rejects.toThrow("install util-linux");
  } finally {
    process.env["PATH"] = PATH;
  }
});

test("the lock file of an agent of version 0.1, without a kernel lock, is respected while it runs", async () => {
  const holder = spawn("/bin/sh", ["-c", "read x"], { stdio: ["pipe", "ignore", "ignore"] });
  writeFileSync(join(folder, "lock"), JSON.stringify(identityOf(holder.pid ?? 0)));
  await expect(lockDirectory(folder)).rejects.toThrow(LockHeldError);
  holder.stdin.end();
  await once(holder, "exit");
  (await lockDirectory(folder))();
});

test.each([
  ["a reused pid", JSON.stringify({ ...identityOf(process.pid), start: "1" })],
  [
    "a holder from before the reboot",
    JSON.stringify({ ...identityOf(process.pid), boot: "another" }),
  ],
  ["an empty file", ""],
  ["damaged JSON", "{"],
])("a lock file with %s does not hold the lock", async (_, text) => {
  writeFileSync(join(folder, "lock"), text);
  const release = await lockDirectory(folder);
  expect(JSON.parse(readFileSync(join(folder, "lock"), "utf8"))).toMatchObject(
    identityOf(process.pid) ?? {},
  );
  release();
});
