/** The command lines that the README and the pages of docs/ show. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../helpers/project/source-files.ts";

export interface DocumentedCommand {
  readonly page: string;
  readonly line: string;
  /** In a block of commands; else in a sentence, where it may only be a name. */
  readonly isBlock: boolean;
}

/** Returns the command lines, page by page. */
export function documentedCommands(): DocumentedCommand[] {
  const pages = readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`);
  return ["README.md", ...pages].flatMap((page) => {
    const text = readFileSync(join(root, page), "utf8");
    const blocks = shellBlocks(text).flatMap(linesOf);
    const sentences = text.replaceAll(/^```[\s\S]*?^```/gm, "");
    const named = [...sentences.matchAll(inline)].map(([, line = ""]) => line);
    return [
      ...blocks.map((line) => ({ page, line, isBlock: true })),
      ...named.map((line) => ({ page, line, isBlock: false })),
    ];
  });
}

/** Returns the blocks of shell commands in a text. */
export const shellBlocks = (text: string): string[] =>
  [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = ""]) => block);

/** Joins continued lines, and removes comments. */
const linesOf = (block: string): string[] =>
  block
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/\s+#\s.*$/, "").trim())
    .filter((line) => line !== "");

const inline = /`((?:[A-Z_]+=\S+ )*(?:(?:bin\/)?windlass|npm|npx|docker|systemctl) [^`]+)`/g;
