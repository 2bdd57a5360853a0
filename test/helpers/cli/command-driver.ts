/**
 * Runs client commands to success as a user does, in a terminal or in a pipe, and records which
 * ones were run.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { wholeProgram } from "../../../cli/program.ts";
import { until } from "../agent/agent-process.ts";
import { openProgram, openTerminal, wide } from "../machine/terminal.ts";
import { bin, windlass } from "./windlass.ts";

export const ways = ["a terminal", "a pipe"] as const;

/** What a command must show, and its input. */
export interface CommandCase {
  /** Expected on stdout. */
  readonly data?: RegExp;
  /** Expected on stderr. */
  readonly says?: RegExp;
  /**
   * The question that it asks before it does anything. After "no", or in a pipe without --yes,
   * nothing is changed.
   */
  readonly asks?: string;
  /** It makes a plan and shows it before it asks. */
  readonly plans?: true;
  /** The secret that it asks for and never shows. */
  readonly secret?: string;
  /** A line of input that depends on what it has shown. */
  readonly answer?: { readonly to: string; line(shown: string): Promise<string> };
  /** The file for its stdout, which is not for a screen. */
  readonly into?: string;
  /** It only reads, so in a pipe it is also run with --json. */
  readonly reads?: true;
}

export interface CommandDriver {
  readonly way: (typeof ways)[number];
  /**
   * Runs `windlass <words>`, which must behave as described, and returns everything that it showed.
   */
  run(words: readonly string[], course?: CommandCase): Promise<string>;
  /** Runs the command with --json and returns the value. */
  json(...words: string[]): Promise<never>;
  /** The commands that were run, without their arguments. */
  readonly driven: ReadonlySet<string>;
}

/** Returns every command that can be run, such as `jobs list`. */
export async function allCommands(): Promise<string[]> {
  const leaves = (one: Awaited<ReturnType<typeof wholeProgram>>, path: string): string[] =>
    one.commands.length === 0
      ? [path]
      : one.commands.flatMap((below) => leaves(below, `${path} ${below.name()}`.trim()));
  return leaves(await wholeProgram(), "");
}

/** Creates a driver for a user whose client has this environment. */
export async function openCommandDriver(
  way: CommandDriver["way"],
  environment: Readonly<Record<string, string>>,
): Promise<CommandDriver> {
  const commands = await allCommands();
  const driven = new Set<string>();
  const inWay = way === "a pipe" ? inPipe : inTerminal;
  return {
    way,
    driven,
    run: async (words, course = {}) => {
      const line = words.join(" ");
      const shown = await inWay(words, course, environment).catch((error: unknown) => {
        throw new Error(`windlass ${line}, in ${way}`, { cause: error });
      });
      const command = commands.find((one) => `${line} `.startsWith(`${one} `));
      if (command === undefined) throw new Error(`windlass ${line} is no command`);
      driven.add(command);
      return shown;
    },
    json: async (...words) => {
      const { exitCode, stdout, stderr } = await windlass([...words, "--json"], {
        env: environment,
      });
      expect({ words, exitCode, stderr }).toMatchObject({ exitCode: 0 });
      return JSON.parse(stdout as string) as never;
    },
  };
}

type Environment = Readonly<Record<string, string>>;

/** Answers each question with "no" first. */
async function inTerminal(words: readonly string[], course: CommandCase, environment: Environment) {
  const { asks, plans, secret, answer, data, says, into } = course;
  if (asks !== undefined) {
    await using refused = openTerminal(words, environment, wide);
    await refused.shows(asks);
    refused.type("n\r");
    expect(await refused.exited).toBe(plans ? 3 : 1);
    const unchanged = plans ? "No resource was changed." : "Nothing was changed.";
    expect(refused.screen()).toContain(`windlass: Not confirmed. ${unchanged}`);
  }
  await using terminal = into
    ? openProgram(
        ["sh", "-c", `exec "$@" > '${into}'`, "sh", bin, ...words],
        environment,
        undefined,
        wide,
      )
    : openTerminal(words, environment, wide);
  if (asks !== undefined) {
    await terminal.shows(asks);
    terminal.type("y\r");
  }
  if (secret !== undefined) {
    await terminal.shows("Value of ");
    terminal.type(`${secret}\r`);
  }
  if (answer) terminal.type(`${await answer.line(await terminal.shows(answer.to))}\r`);
  const code = await terminal.exited;
  const screen = terminal.screen() + (into ? readFileSync(into, "utf8") : "");
  expect({ code, screen }).toEqual({
    code: 0,
    screen: expect.stringMatching(data ?? "") as string,
  });
  if (says) expect(screen).toMatch(says);
  if (secret !== undefined) expect(screen).not.toContain(secret);
  return screen;
}

async function inPipe(words: readonly string[], course: CommandCase, environment: Environment) {
  const { asks, secret, answer, data, says, reads } = course;
  if (asks !== undefined) {
    const unasked = await windlass(words, { env: environment });
    expect(unasked).toMatchObject({ exitCode: 2, stdout: "" });
    expect(unasked.stderr).toContain(`${asks} Not a terminal, so the question cannot be asked`);
    expect(unasked.stderr).toContain("Pass --yes to confirm.");
  }
  const given = asks === undefined ? words : [...words, "--yes"];
  const command = windlass(given, { env: environment, stdin: "pipe" });
  if (answer) {
    let told = "";
    command.stderr?.on("data", (text: Buffer) => void (told += text.toString()));
    command.stdin?.write(
      `${await answer.line(await until(() => told.includes(answer.to) && told))}\n`,
    );
  }
  command.stdin?.end(secret === undefined ? "" : `${secret}\n`);
  const { exitCode, ...streams } = await command;
  const [stdout, stderr] = [String(streams.stdout), String(streams.stderr)];
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr: expect.stringMatching(says ?? "") as string,
  });
  // Programs read stdout: it holds data only, without colours.
  if (data) expect(stdout).toMatch(data);
  else expect(stdout).toBe("");
  expect(stdout + stderr).not.toContain("\u001b");
  if (secret !== undefined) expect(stdout + stderr).not.toContain(secret);
  if (reads) {
    const programs = await windlass([...words, "--json"], { env: environment });
    expect(programs).toMatchObject({ exitCode: 0, stderr: "" });
    const value = JSON.parse(String(programs.stdout)) as unknown;
    expect(Array.isArray(value)).toBe(/ (list|versions)\b/.test(words.join(" ")));
  }
  return stdout + stderr;
}
