import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LockHeld, lockWorkDir } from "../../agent/lock.ts";
import { identityOf } from "../../agent/process-identity.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a held lock is refused and a released one is free", async () => {
  const release = await lockWorkDir(folder);
  await expect(lockWorkDir(folder)).rejects.toThrow(LockHeld);
  release();
  expect(existsSync(join(folder, "lock"))).toBe(false);
  (await lockWorkDir(folder))();
});

test("the lock of a dead holder is taken over", async () => {
  const holder = spawn("/bin/sh", ["-c", "read x"], { stdio: ["pipe", "ignore", "ignore"] });
  writeFileSync(join(folder, "lock"), JSON.stringify(identityOf(holder.pid ?? 0)));
  await expect(lockWorkDir(folder)).rejects.toThrow(LockHeld);
  holder.stdin.end();
  await once(holder, "exit");
  (await lockWorkDir(folder))();
});

test.each([
  [
    "a pid that another process has by now",
    JSON.stringify({ ...identityOf(process.pid), start: "1" }),
  ],
  [
    "a holder from before the reboot",
    JSON.stringify({ ...identityOf(process.pid), boot: "another" }),
  ],
  ["an empty file", ""],
  ["rubbish", "{"],
])("%s does not hold it", async (_, text) => {
  writeFileSync(join(folder, "lock"), text);
  const release = await lockWorkDir(folder);
  expect(JSON.parse(readFileSync(join(folder, "lock"), "utf8"))).toEqual(identityOf(process.pid));
  release();
});
