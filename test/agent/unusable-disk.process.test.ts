/** What the agent says at its start if its work directory is on a disk that takes nothing. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fillDisk, makeReadOnly, needsRoot, smallDisk } from "../helpers/machine/small-disk.ts";
import { windlass } from "../helpers/cli/windlass.ts";

const start = (WINDLASS_WORK_DIR: string) =>
  windlass(["agent"], {
    env: { WINDLASS_URL: "https://windlass.test", WINDLASS_WORK_DIR },
    timeout: 60_000,
  });

test.for(["new", "made"])("a full disk: a work directory that is %s", async (name, { skip }) => {
  await using disk = await smallDisk(1);
  if (disk === undefined) return skip(needsRoot);
  const workDir = join(disk.path, name);
  if (name === "made") mkdirSync(workDir);
  fillDisk(join(disk.path, "filler"));
  const { exitCode, stderr } = await start(workDir);
  expect(stderr).toMatch(
    new RegExp(
      `^windlass agent: ENOSPC: .*; free some space on the disk of WINDLASS_WORK_DIR \\(${workDir}\\)$`,
    ),
  );
  // The service starts again until there is space.
  expect(exitCode).toBe(1);
});

test.for(["new", "made"])(
  "a read-only disk: a work directory that is %s",
  async (name, { skip }) => {
    await using disk = await smallDisk(1);
    if (disk === undefined) return skip(needsRoot);
    const workDir = join(disk.path, name);
    if (name === "made") mkdirSync(workDir);
    await makeReadOnly(disk.path);
    const { exitCode, stderr } = await start(workDir);
    expect(stderr).toMatch(
      /^windlass agent: EROFS: .*; set WINDLASS_WORK_DIR to a directory that this user may write to$/,
    );
    expect(exitCode).toBe(78);
  },
);
