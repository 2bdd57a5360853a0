/** Writes the files that are in the snapshot itself. */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { StepFailedError } from "../context.ts";
import type { SourceRevision } from "../plan/manifest.ts";

/** Writes the files below `folder`, which must be empty. */
export function writeInline(
  files: Readonly<Record<string, string>>,
  folder: string,
): SourceRevision {
  const hash = createHash("sha256");
  for (const path of Object.keys(files).toSorted()) {
    const text = files[path];
    if (typeof text !== "string" || !isSafePath(path)) {
      throw new StepFailedError(`source: "${path}" is not a valid file name`);
    }
    // Each length comes first, so that no two different sets of files are hashed as the same bytes.
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(text)}:`).update(text);
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    // A file that begins like a script becomes executable, because a snapshot has no file modes.
    writeFileSync(target, text, { flag: "wx", mode: text.startsWith("#!") ? 0o700 : 0o600 });
  }
  return { type: "inline", digest: hash.digest("hex") };
}

/** Whether a relative path stays within its directory. */
export function isSafePath(path: string): boolean {
  return (
    path !== "" &&
    !path.includes("\0") &&
    !path.includes("\\") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..")
  );
}
