import { describe, expect, test } from "vitest";
import {
  AttributeBudget,
  attributesOf,
  type Change,
} from "../../../../agent/job/plan/attributes.ts";
import { secrecyOf } from "../../../../common/redaction/secrecy.ts";
import {
  planAttributeCount,
  planAttributesLimit,
  planValueLimit,
} from "../../../../protocol/limits.ts";

const list = (change: Omit<Change, "actions">, secrets: string[] = []) => [
  ...attributesOf({ actions: ["update"], ...change }, secrecyOf(secrets)),
];
const changed = (before: unknown, after: unknown) => list({ before, after });

describe("the attributes of a change", () => {
  test.each<[string, unknown, unknown, object[]]>([
    ["a plain value", { a: 1, b: 1 }, { a: 2, b: 1 }, [{ path: "a", before: 1, after: 2 }]],
    ["one that is new", {}, { a: "x" }, [{ path: "a", after: "x" }]],
    ["one that is removed", { a: "x" }, { a: null }, [{ path: "a", before: "x", after: null }]],
    [
      "nested ones",
      { t: { a: 1, b: 2 } },
      { t: { a: 1, b: 3 } },
      [{ path: "t.b", before: 2, after: 3 }],
    ],
    [
      "parts of a map whose keys are no identifiers",
      { t: { "a.b": 1, "c d": 1, 'e"': 1, f: 1 } },
      { t: { "a.b": 2, "c d": 2, 'e"': 2, "f-ä": 1 } },
      [
        { path: 't["a.b"]', before: 1, after: 2 },
        { path: 't["c d"]', before: 1, after: 2 },
        { path: 't["e\\""]', before: 1, after: 2 },
        { path: "t.f", before: 1, after: null },
        { path: "t.f-ä", after: 1 },
      ],
    ],
    [
      "a list of plain values",
      { l: ["a", "b"] },
      { l: ["b"] },
      [{ path: "l", before: ["a", "b"], after: ["b"] }],
    ],
    [
      "a list of blocks",
      { l: [{ p: 1, q: 1 }] },
      { l: [{ p: 2, q: 1 }, { p: 3 }] },
      [
        { path: "l[0].p", before: 1, after: 2 },
        { path: "l[1].p", after: 3 },
      ],
    ],
    [
      "JSON in a text",
      { policy: '{"Version":1,"Statement":[{"Effect":"Allow"}]}' },
      { policy: '{"Version":1,"Statement":[{"Effect":"Deny"}]}' },
      [{ path: "policy.Statement[0].Effect", before: "Allow", after: "Deny" }],
    ],
    [
      "JSON that is only formatted anew",
      { p: '{"a":1}' },
      { p: '{"a": 1}' },
      [{ path: "p", before: '{"a":1}', after: '{"a": 1}' }],
    ],
    ["another type", { a: { b: 1 } }, { a: 5 }, [{ path: "a", before: '{"b":1}', after: 5 }]],
    ["an empty map", { a: {} }, {}, [{ path: "a", before: {}, after: null }]],
    ["nothing", { a: [{ b: null }], c: 1 }, { a: [{}], c: 1 }, []],
  ])("are %s", (_, before, after, expected) => {
    expect(changed(before, after)).toEqual(expected);
  });

  test("of what becomes unknown are all that it had, one by one", () => {
    const had = { tag: "v1", list: ["a", "b"], rules: [{ port: 1 }, { port: 2 }], none: {} };
    const before = { output: had, hidden: { a: 1, b: "secret" }, names: ["x"] };
    const after_unknown = { output: true, hidden: true, names: true };
    const before_sensitive = { hidden: { b: true } };
    expect(list({ before, after: {}, after_unknown, before_sensitive })).toEqual([
      { path: "hidden", unknown: true, sensitive: true },
      { path: "names", before: ["x"], unknown: true },
      { path: "output.list", before: ["a", "b"], unknown: true },
      { path: "output.none", before: {}, unknown: true },
      { path: "output.rules[0].port", before: 1, unknown: true },
      { path: "output.rules[1].port", before: 2, unknown: true },
      { path: "output.tag", before: "v1", unknown: true },
    ]);
  });

  test("of a new resource are all that are set, and those known after the apply", () => {
    const change = { before: null, after: { name: "x", none: null }, after_unknown: { id: true } };
    expect(list(change)).toEqual([
      { path: "id", unknown: true },
      { path: "name", after: "x" },
    ]);
    const unknown = { a: { id: true }, list: [true, true], mixed: [true, false] };
    const mixed = { before: null, after: { mixed: [null, "x"] }, after_unknown: unknown };
    expect(list(mixed)).toEqual([
      { path: "a.id", unknown: true },
      { path: "list", unknown: true },
      { path: "mixed[0]", unknown: true },
      { path: "mixed[1]", after: "x" },
    ]);
  });
});

describe("of a sensitive attribute", () => {
  test.each<[string, Omit<Change, "actions">, object[]]>([
    [
      "the value is left out before and after",
      { before: { a: "old-1234" }, after: { a: "new-1234" }, after_sensitive: { a: true } },
      [{ path: "a", sensitive: true }],
    ],
    [
      "everything below is left out",
      {
        before: { a: { b: "old-1234" } },
        after: { a: { b: "new-1234" } },
        before_sensitive: { a: true },
      },
      [{ path: "a", sensitive: true }],
    ],
    [
      "an entry of a list is left out, and the others are shown",
      {
        before: { a: ["x", "old-1234"] },
        after: { a: ["y", "new-1234"] },
        after_sensitive: { a: [false, true] },
      },
      [
        { path: "a[0]", before: "x", after: "y" },
        { path: "a[1]", sensitive: true },
      ],
    ],
    [
      "a value of another type with a sensitive part is left out",
      { before: { a: { b: "old-1234" } }, after: { a: "x" }, before_sensitive: { a: { b: true } } },
      [{ path: "a", sensitive: true }],
    ],
    [
      "the value before an unknown one is left out",
      {
        before: { a: { b: "old-1234" }, c: "old-1234" },
        after: {},
        after_unknown: { a: true, c: true },
        before_sensitive: { a: { b: true }, c: true },
      },
      [
        { path: "a", unknown: true, sensitive: true },
        { path: "c", sensitive: true, unknown: true },
      ],
    ],
    [
      "a change of the mark alone is shown",
      {
        before: { a: "same-123" },
        after: { a: "same-123" },
        before_sensitive: {},
        after_sensitive: { a: true },
      },
      [{ path: "a", sensitive: true }],
    ],
    [
      "a copy in another attribute of the resource is left out",
      {
        before: { input: "old-1234", output: ["is old-1234"] },
        after: { input: "new-1234", output: ["is new-1234"] },
        before_sensitive: { input: true },
        after_sensitive: { input: true },
      },
      [
        { path: "input", sensitive: true },
        { path: "output", sensitive: true },
      ],
    ],
  ])("%s", (_, change, expected) => {
    expect(list(change)).toEqual(expected);
    expect(JSON.stringify(list(change))).not.toContain("1234");
  });

  test("a value with a secret that the agent knows is left out, plain and encoded, and its name masked", () => {
    const secret = "hunter2-secret";
    const after = {
      plain: `x${secret}x`,
      json: JSON.stringify({ deep: secret }),
      base64: Buffer.from(`user:${secret}`).toString("base64"),
      list: ["a", secret],
      number: 123_456_789,
      [secret]: "x",
      other: "hunter2",
    };
    expect(list({ before: null, after }, [secret, "123456789"])).toEqual([
      { path: "base64", sensitive: true },
      { path: "***", after: "x" },
      { path: "json", sensitive: true },
      { path: "list", sensitive: true },
      { path: "number", sensitive: true },
      { path: "other", after: "hunter2" },
      { path: "plain", sensitive: true },
    ]);
  });
});

describe("the limits of attributes", () => {
  test("of two long texts begin with the line before the first difference", () => {
    const lines = Array.from({ length: 400 }, (_, line) => `line ${line} ${"x".repeat(40)}`);
    const [text] = changed({ a: lines.join("\n") }, { a: lines.with(200, "other").join("\n") });
    expect(text?.before).toMatch(/^…line 199 x+\nline 200 x+\nline 201 /);
    expect(text?.after).toMatch(/^…line 199 x+\nother\nline 201 /);
    expect(String(text?.after)).toHaveLength(planValueLimit);
    const word = "x".repeat(9000);
    expect(changed({ a: word }, { a: `${word}y` })[0]?.after).toBe(`…${"x".repeat(400)}y`);
  });

  test("cut a long value and a long list", () => {
    const [text, values] = changed({}, { a: "é".repeat(9000), b: Array(5000).fill("word") });
    expect(text?.after).toMatch(/^é+…$/u);
    expect(String(text?.after)).toHaveLength(planValueLimit);
    expect(values?.after).toContain("…");
    expect(JSON.stringify(values?.after).length).toBeLessThan(planValueLimit + 10);
  });

  test("end at a depth that no provider needs, and survive any", () => {
    let deep: unknown = "x";
    for (let depth = 0; depth < 30; depth++) deep = { d: deep };
    expect(changed({}, { deep })).toEqual([{ path: `deep${".d".repeat(19)}` }]);
    const json = (end: string) => "[".repeat(30_000) + end + "]".repeat(30_000);
    expect(changed({ a: json("1") }, { a: json("2") })).toHaveLength(1);
  });

  test("keep half of the budget for resources that change", () => {
    const budget = new AttributeBudget();
    const many = (name: string) =>
      Array.from({ length: planAttributeCount }, (_, at) => ({
        path: `${name}${at}`,
        after: "x".repeat(1000),
      }));
    const size = (all: object[]) => JSON.stringify(all).length;
    const created = Array.from({ length: 20 }, () => budget.take(many("new"), 0.5)).flatMap(
      ({ kept }) => kept,
    );
    const updated = Array.from({ length: 20 }, () => budget.take(many("old"), 1)).flatMap(
      ({ kept }) => kept,
    );
    expect(size(created)).toBeLessThanOrEqual(planAttributesLimit / 2);
    expect(size(updated)).toBeGreaterThan(planAttributesLimit / 2 - 3000);
    expect(size([...created, ...updated])).toBeLessThanOrEqual(planAttributesLimit);
    expect(budget.take(many("more"), 1)).toEqual({ kept: [], isCut: true });
  });
});
