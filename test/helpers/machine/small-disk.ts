/** A disk of a few megabytes that a test can fill. */
import { execFile } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Skip a test with this reason where `smallDisk` returns undefined. */
export const needsRoot = "a small disk cannot be mounted here (it needs root)";

/** Mounts a disk of this size; undefined if that is not permitted. */
export async function smallDisk(
  megabytes: number,
): Promise<(AsyncDisposable & { readonly path: string }) | undefined> {
  const path = await mkdtemp(join(tmpdir(), "small-disk-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path]);
  } catch {
    await rm(path, { recursive: true });
    return undefined;
  }
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await run("umount", [path]);
      await rm(path, { recursive: true });
    },
  };
}

/** Forbids changes of the disk. */
export const makeReadOnly = (path: string): Promise<unknown> =>
  run("mount", ["-o", "remount,ro", path]);

/** Writes a file that takes all free space. */
export function fillDisk(path: string): void {
  const file = openSync(path, "w");
  try {
    for (let size = 1024 * 1024; size >= 512; size /= 2)
      for (;;) {
        try {
          if (writeSync(file, Buffer.alloc(size, 1)) < size) break;
        } catch {
          break;
        }
      }
  } finally {
    closeSync(file);
  }
}
