import { Command } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { oneOf } from "../../cli/noun.ts";

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
