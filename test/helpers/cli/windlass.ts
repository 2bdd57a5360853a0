/** Runs the real command as a user does. */
import { execa, type Options } from "execa";
import { join } from "node:path";
import { root } from "../project/source-files.ts";

export const bin = join(root, "bin/windlass");

/**
 * Runs `windlass <words>`, with nothing in stdin but the `input`. A failing exit code is returned, not
 * thrown.
 */
export const windlass = (words: readonly string[], options: Options = {}) =>
  execa(bin, words, {
    reject: false,
    ...(options.input === undefined ? { stdin: "ignore" as const } : {}),
    ...options,
  });
