import { Command } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { jobsCommand } from "../../cli/commands/jobs.ts";
import { upCommand } from "../../cli/commands/up.ts";
import { oneOf } from "../../cli/noun.ts";
import { wholeProgram } from "../../cli/program.ts";

const parse = (text: string) =>
  new Command()
    .addOption(oneOf("--type <type>", "the type", ["plan", "destroy-worker"]))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parse(["--type", text], { from: "user" })
    .opts().type;

test("a word of a fixed list is accepted as it is written in a table or in JSON", () => {
  expect(["plan", "PLAN", "Plan"].map(parse)).toEqual(["plan", "plan", "plan"]);
  expect(parse("DESTROY_WORKER")).toBe("destroy-worker");
});

test("any other word is refused with the list", () => {
  expect(() => parse("plans")).toThrow(
    "option '--type <type>' argument 'plans' is invalid. Allowed choices are plan, destroy-worker.",
  );
});

test("commands that end with several exit codes name them in their help", () => {
  const destroy = jobsCommand().commands.find((one) => one.name() === "destroy");
  for (const command of [upCommand(), destroy]) {
    let help = "";
    command?.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp();
    for (const code of [0, 1, 2, 3, 130]) expect(help).toMatch(new RegExp(`^  ${code} +\\w`, "m"));
  }
});

test("the help marks the options that a command requires", async () => {
  const state = (await wholeProgram()).commands.find((one) => one.name() === "state");
  const rollback = state?.commands.find((one) => one.name() === "rollback");
  const help = rollback?.helpInformation();
  expect(help).toMatch(/--serial <number> .*\(required\)$/m);
  expect(help?.match(/\(required\)/g)).toHaveLength(1);
});
