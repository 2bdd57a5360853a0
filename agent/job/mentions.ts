/** Searches a directory's terraform files for a word, which saves most jobs a run of terraform. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readJobFile } from "./job-files.ts";
import { mebibyte } from "../../common/units.ts";

/**
 * Of all files of a directory. More is not searched, because everything else of the agent waits
 * meanwhile.
 */
const lookLimit = 8 * mebibyte;

/**
 * Whether a terraform file of the directory may contain one of the words as an identifier. False is
 * certain, because an identifier of HCL has only one spelling. A file or directory that cannot be
 * read, JSON with escaped characters, and more than 8 MiB of files count as containing it.
 */
export function mentions(root: string, folder: string, words: readonly string[]): boolean {
  const word = new RegExp(`(?<![\\w-])(?:${words.join("|")})(?![\\w-])`);
  let room = lookLimit;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return true;
  }
  return names.some((name) => {
    if (!/\.(?:tf|tofu)(?:\.json)?$/.test(name)) return false;
    const text = textOf(root, join(folder, name), room);
    room -= text?.length ?? 0;
    return text === undefined || word.test(text) || (name.endsWith("json") && text.includes("\\u"));
  });
}

/**
 * Whether a terraform file of the directory may declare the variable. False is certain: a label has
 * another spelling only with escapes, and a name beyond ASCII may be normalized.
 */
export const mayDeclare = (root: string, folder: string, name: string): boolean =>
  !/^[\w-]+$/.test(name) || mentions(root, folder, [name, escaped]);

/** A word with an escape of Unicode. */
const escaped = String.raw`[\w-]*\\[uU][\w-]*`;

function textOf(root: string, path: string, limit: number): string | undefined {
  try {
    return readJobFile(root, path, limit);
  } catch {
    return undefined;
  }
}
