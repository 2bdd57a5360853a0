/** Searches a directory's terraform files, which saves most jobs a run of terraform. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readJobFile } from "./job-files.ts";
import { mebibyte } from "../../common/units.ts";

/**
 * Limit for all files of a directory. More is not searched, because the rest of the agent waits
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
  for (const { text } of textsIn(root, folder))
    if (text === undefined || word.test(text)) return true;
  return false;
}

/**
 * Returns the variables that no terraform file of the directory can declare. Each file is read
 * once, however many names there are: both come from users. None if a file has an escape of
 * Unicode, with which a label has another spelling, or a comment before a label; a name beyond ASCII
 * may be normalized.
 */
export function undeclared(root: string, folder: string, names: readonly string[]): Set<string> {
  const left = new Set(names.filter((name) => /^[\w-]+$/.test(name)));
  if (left.size === 0) return left;
  for (const { text, isJson } of textsIn(root, folder)) {
    if (text === undefined || /\\u/i.test(text)) return new Set();
    for (const [, name = ""] of text.matchAll(isJson ? anyWord : declaration))
      if (name === "/") return new Set();
      else left.delete(name);
  }
  return left;
}

/** In JSON, any word may be the name of a variable. */
const anyWord = /([\w-]+)/g;
/** The name of a variable, or the first character of a comment before it. Quotes may be missing. */
const declaration = /(?<![\w-])variable[ \t]*"?([\w-]+|\/)/g;

interface SearchedFile {
  /** Undefined: it is not searched. */
  readonly text: string | undefined;
  readonly isJson?: boolean;
}

function* textsIn(root: string, folder: string): Iterable<SearchedFile> {
  let room = lookLimit;
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return yield { text: undefined };
  }
  for (const name of names.filter((one) => /\.(?:tf|tofu)(?:\.json)?$/.test(one))) {
    const text = textOf(root, join(folder, name), room);
    room -= text?.length ?? 0;
    const isJson = name.endsWith("json");
    yield { text: isJson && text?.includes("\\u") ? undefined : text, isJson };
  }
}

function textOf(root: string, path: string, limit: number): string | undefined {
  try {
    return readJobFile(root, path, limit);
  } catch {
    return undefined;
  }
}
