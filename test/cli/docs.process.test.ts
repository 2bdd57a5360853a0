/** The help of every command, as a build has it on one page. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { beforeAll, expect, test } from "vitest";
import { wholeProgram } from "../../cli/program.ts";
import { cliDocument } from "../../scripts/lib/cli-document.ts";

let document: string;
let lines: string[];
beforeAll(async () => {
  document = await cliDocument();
  const [, ...helps] = document.split("```text\n");
  lines = helps.flatMap((help) => (help.split("```")[0] ?? "").split("\n"));
});

test("the help of every verb has examples", () => {
  const chapters = document.split(/^#{2,5} (?=windlass)/m).slice(1);
  expect(chapters.length).toBeGreaterThan(50);
  const without = chapters.filter((chapter) => !/^(Examples?|Commands):/m.test(chapter));
  expect(without).toEqual([]);
});

test("no help line is wider than 80 columns", () => {
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});

test("every example of the help is a command line that the parser takes", async () => {
  // What stands behind three spaces explains the example.
  const examples = new Set(
    lines.flatMap((line) => /^ +(?:\S.*\| )?(windlass .*?)(?: {3}.*)?$/.exec(line)?.[1] ?? []),
  );
  expect(examples.size).toBeGreaterThan(80);
  const wrong: string[] = [];
  for (const line of examples) {
    if (/^windlass (server|agent)\b/.test(line)) continue;
    const program = await wholeProgram();
    withoutActions(program);
    program.configureOutput({ writeErr: () => undefined });
    await program.parseAsync(wordsOf(line), { from: "user" }).catch((error: Error) => {
      wrong.push(`${line}: ${error.message}`);
    });
  }
  expect(wrong).toEqual([]);
});

/** Replaces the action of every command, so that the parser only parses. */
function withoutActions(command: CommandUnknownOpts): void {
  for (const one of command.commands) {
    withoutActions(one);
    if (one.commands.length === 0) one.action(() => undefined);
  }
}

/** Splits a line as a shell does, up to a pipe or a redirection. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/ [|<>] ?.*$/, "").matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)]
    .map(([, single, double, bare]) => single ?? double ?? bare ?? "")
    .slice(1);
