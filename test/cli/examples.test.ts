/** The examples in the help, and so in docs/cli.md, against the parser. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { expect, it } from "vitest";
import { wholeProgram } from "../../cli/program.ts";
import { root } from "../helpers/source-files.ts";

const [, ...helps] = readFileSync(join(root, "docs/cli.md"), "utf8").split("```text\n");
// What stands behind three spaces explains the example.
const shown = helps
  .flatMap((help) => (help.split("```")[0] ?? "").split("\n"))
  .map((line) => /^ +(?:\S.*\| )?(windlass .*?)(?: {3}.*)?$/.exec(line)?.[1] ?? "");
const lines = [...new Set(shown.filter((line) => line !== ""))];

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

it("every example of the help is a command line that the parser takes", async () => {
  expect(lines.length).toBeGreaterThan(80);
  const wrong: string[] = [];
  for (const line of lines.filter((one) => !/^windlass (server|agent)\b/.test(one))) {
    const program = await wholeProgram();
    withoutActions(program);
    program.configureOutput({ writeErr: () => undefined });
    await program.parseAsync(wordsOf(line), { from: "user" }).catch((error: Error) => {
      wrong.push(`${line}: ${error.message}`);
    });
  }
  expect(wrong).toEqual([]);
});
