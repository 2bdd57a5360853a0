import { describe, expect, it } from "vitest";
import { variablesCount } from "../../../protocol/values.ts";
import {
  inherited,
  withSets,
  type ValuedSet,
} from "../../../control-plane/domain/variable-sets.ts";

const set = (name: string, values: ValuedSet["values"]): ValuedSet => ({
  id: name,
  name,
  attached_to: "configuration",
  values,
});
const v = (value: unknown) => ({ value });

describe("the values of a configuration with variable sets", () => {
  const own = { variables: { a: v("own") }, environment: { A: "own" }, engine: "opentofu" };
  const sets = [
    set("first", { variables: { a: v("first"), b: v("first"), ["__proto__"]: v("first") } }),
    set("second", {
      variables: { b: v("second"), c: v("second") },
      environment: { A: "x", B: "y" },
    }),
  ];

  it("are its own, then those of the first set that has the name", () => {
    const { variables, environment, engine } = withSets(own, sets);
    expect(Object.entries(variables).toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
      ["__proto__", v("first")],
      ["a", v("own")],
      ["b", v("first")],
      ["c", v("second")],
    ]);
    expect(environment).toEqual({ A: "own", B: "y" });
    expect(engine).toBe("opentofu");
  });

  it("are unchanged without a set", () => {
    const bare = {};
    expect(withSets(bare, [])).toBe(bare);
  });

  it("may not be more than those of one configuration", () => {
    const many = Object.fromEntries(
      Array.from({ length: variablesCount }, (_, index) => [`v${index}`, v(1)]),
    );
    expect(() =>
      withSets({ variables: many }, [set("s", { variables: { v0: v(2) } })]),
    ).not.toThrow();
    expect(() => withSets({ variables: many }, [set("s", { variables: { w: v(2) } })])).toThrow(
      "the configuration and its variable sets together have more than 1000 variables",
    );
    const large = { large: v("x".repeat(3 * 1024 * 1024)) };
    expect(() =>
      withSets({ variables: large }, [set("s", { variables: { other: large.large } })]),
    ).toThrow("more than 4 MiB of variables");
  });

  it("say what each set gives and what overrides it", () => {
    const shown = inherited(own, sets).map(
      ({ kind, name, set: { name: from }, overriddenBy: by }) =>
        [kind, name, from, typeof by === "object" ? by.name : by] as const,
    );
    expect(shown).toEqual([
      ["variables", "__proto__", "first", undefined],
      ["variables", "a", "first", "configuration"],
      ["variables", "b", "first", undefined],
      ["variables", "b", "second", "first"],
      ["variables", "c", "second", undefined],
      ["environment", "A", "second", "configuration"],
      ["environment", "B", "second", undefined],
    ]);
  });
});
