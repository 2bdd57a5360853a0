import { expect, it } from "vitest";
import { TargetMatches } from "../../../../agent/job/plan/targets.ts";

const gone = { actions: ["delete"] };

it.each([
  ["a resource", ["a.b"], "a.b", []],
  ["all instances of a resource", ["a.b"], 'a.b["x"]', []],
  ["what is in a module", ["module.m"], "module.m.a.b", []],
  ["what is in an instance of a module", ["module.m"], "module.m[0].module.n.a.b", []],
  ["an instance whose key is escaped", ['a.b["\\u00e4"]'], 'a.b["ä"]', []],
  ["a longer name", ["module.pool"], "module.pool2.a.b", ["module.pool"]],
  ["another instance", ["module.m[1]", "a.b"], "module.m[10].a.b", ["module.m[1]", "a.b"]],
])("%s", (_, targets, address, unmatched) => {
  const matches = new TargetMatches(targets);
  matches.resource({ address, change: gone });
  expect(matches.unmatched).toEqual(unmatched);
});

it("what does not change matches no target, and what moved matches by both addresses", () => {
  const matches = new TargetMatches(["a.old", "a.new", "a.same"]);
  matches.resource({ address: "a.same", change: { actions: ["no-op"] } });
  matches.resource({ address: "a.new", previous_address: "a.old", change: gone });
  expect(matches.unmatched).toEqual(["a.same"]);
});
