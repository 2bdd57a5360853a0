/**
 * Runs a command in a real pseudo-terminal, created by `script` of util-linux, and reads its
 * screen.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { until } from "../agent/agent-process.ts";
import { bin } from "../cli/windlass.ts";

export interface Terminal extends AsyncDisposable {
  /** Everything that was written so far, as text without control sequences. */
  screen(): string;
  /** Everything that was written so far, unchanged. */
  raw(): string;
  type(text: string): void;
  /** Waits for words on the screen. */
  shows(words: string): Promise<string>;
  readonly exited: Promise<number | null>;
}

/** Runs `windlass <words>` in a terminal. */
export const openTerminal = (
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  columns?: number,
): Terminal => openProgram([bin, ...words], environment, undefined, columns);

/** A width at which the client wraps no sentence. */
export const wide = 300;

/** Runs any program in a terminal, by default of the usual width. */
export function openProgram(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  directory?: string,
  columns = 80,
): Terminal {
  const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const child = spawn(
    "script",
    ["-qefc", `stty cols ${columns} rows 24; exec ${quoted}`, "/dev/null"],
    {
      env: { PATH: process.env["PATH"], TERM: "xterm-256color", SHELL: "/bin/sh", ...environment },
      stdio: ["pipe", "pipe", "inherit"],
      ...(directory === undefined ? {} : { cwd: directory }),
    },
  );
  let written = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written += text;
  });
  const exited = once(child, "exit").then(([code]) => code as number | null);
  const screen = (): string => stripVTControlCharacters(written).replaceAll("\r\n", "\n");
  return {
    screen,
    raw: () => written,
    type: (text) => child.stdin.write(text),
    shows: (words_) => until(() => screen().includes(words_) && screen()),
    exited,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
