/** Files that stand in the snapshot itself. */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { StepFailed } from "../context.ts";
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
      throw new StepFailed(`source: "${path}" is not a file name that can be used`);
    }
    // Lengths in front, so that no two different sets of files are hashed as the same bytes.
    hash.update(`${Buffer.byteLength(path)}:${path}${Buffer.byteLength(text)}:`).update(text);
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    // What begins like a script is one: there is no other way to say so in a snapshot.
    writeFileSync(target, text, { flag: "wx", mode: text.startsWith("#!") ? 0o700 : 0o600 });
  }
  return { type: "inline", digest: hash.digest("hex") };
}

/** A relative path that stays where it is put. */
export function isSafePath(path: string): boolean {
  return (
    path !== "" &&
    !path.includes("\0") &&
    !path.includes("\\") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..")
  );
}
