import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeTree } from "../../../../agent/job/isolation/wipe.ts";

/** Root may remove every file, so the test runs as another user. */
const otherUser = 65_534;

test("removeTree removes read-only files and directories, but no target of a link", async () => {
  const outside = mkdtempSync(join(tmpdir(), "outside-"));
  writeFileSync(join(outside, "kept"), "");
  const folder = mkdtempSync(join(tmpdir(), "wipe-"));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    for (const path of [folder, outside]) chownSync(path, otherUser, otherUser);
  }
  if (isRoot) process.seteuid?.(otherUser);
  try {
    const root = join(folder, "root");
    mkdirSync(join(root, "cache", "module"), { recursive: true });
    writeFileSync(join(root, "cache", "module", "file"), "");
    symlinkSync(outside, join(root, "link"));
    for (const path of ["cache/module", "cache", ""]) chmodSync(join(root, path), 0o555);
    await removeTree(root);
    expect(existsSync(root)).toBe(false);
    expect(existsSync(join(outside, "kept"))).toBe(true);
    await removeTree(root);
  } finally {
    if (isRoot) process.seteuid?.(0);
    await removeTree(folder);
    await removeTree(outside);
  }
});

test("removeTree removes directories whose path is longer than the system's limit", async () => {
  const root = mkdtempSync(join(tmpdir(), "deep-"));
  const deep = (name: string): string => join(root, ...Array.from({ length: 15 }, () => name));
  const [upper, lower] = ["u".repeat(200), "l".repeat(200)];
  for (const name of [upper, lower]) mkdirSync(deep(name), { recursive: true });
  renameSync(join(root, lower), join(deep(upper), "lower"));
  await removeTree(root);
  expect(existsSync(root)).toBe(false);
});
