/** Searches a directory's terraform files, which saves most jobs a run of terraform. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readJobFile } from "./job-files.ts";
import { mebibyte } from "../../common/units.ts";

/** For all files together. More is not searched, because the rest of the agent waits. */
const lookLimit = 8 * mebibyte;

/**
 * Whether a terraform file may contain one of the words as an identifier. False is certain: HCL has
 * one spelling. An unreadable file, escapes in JSON and more than 8 MiB count as containing it.
 */
export function mentions(root: string, folder: string, words: readonly string[]): boolean {
  const word = new RegExp(`(?<![\\w-])(?:${words.join("|")})(?![\\w-])`);
  for (const { text } of textsIn(root, folder))
    if (text === undefined || word.test(text)) return true;
  return false;
}

/** Returns the name of the first file that passes; those that are not searched do not. */
export function firstFile(
  root: string,
  folder: string,
  passes: (text: string) => boolean,
): string | undefined {
  for (const { name, text } of textsIn(root, folder))
    if (text !== undefined && passes(text)) return name;
  return undefined;
}

/**
 * Returns the variables that no file can declare. Reads each file once: files and names come from
 * users. None where a label may be spelt differently, by a Unicode escape or after a comment; a
 * name beyond ASCII may be normalized.
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
  readonly name?: string;
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
    yield { text: isJson && text?.includes("\\u") ? undefined : text, isJson, name };
  }
}

function textOf(root: string, path: string, limit: number): string | undefined {
  try {
    return readJobFile(root, path, limit);
  } catch {
    return undefined;
  }
}
