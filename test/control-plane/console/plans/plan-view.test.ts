import { expect, test } from "vitest";
import type { PlannedChange } from "../../../../protocol/plan-summary.ts";
import { lineDiff, linesOf } from "../../../../control-plane/console/plans/line-diff.ts";
import { planView } from "../../../../control-plane/console/plans/plan-view.ts";
import { dom, texts } from "../../../helpers/console/forms.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";

const view = (plan: Partial<Parameters<typeof planView>[0]["plan"]>, more: object = {}): string =>
  planView({
    name: "a",
    plan: { ...emptySummary, ...plan },
    tense: "planned",
    applied: undefined,
    deployment: undefined,
    options: null,
    ...more,
  }).text;

/** The rows of the attributes as `sign path values`. */
const rowsIn = (text: string): string[] =>
  dom(text)
    .querySelectorAll(".attributes > li")
    .map((row) => row.textContent.replaceAll(/\s+/g, " ").trim());

const diff = (before: unknown, after: unknown): string[] =>
  dom(lineDiff(linesOf(before) ?? [], linesOf(after) ?? [])!.text)
    .querySelectorAll(".diff > *")
    .map((line) => `${{ DEL: "-", INS: "+" }[line.tagName] ?? " "}${line.textContent}`);

test("the changes of a module are below it, in the order of the plan", () => {
  const addresses = [
    'module.a["x.y"].module.b.t.gone',
    "t.root",
    "module.c.t.one",
    'module.a["x.y"].module.b.t.two["module.c."]',
    "module.c.module.d.t.three",
  ];
  const changes: PlannedChange[] = addresses.map((address) => ({ address, action: "create" }));
  const shown = dom(view({ changes }));
  const inside = (part: typeof shown): unknown[] =>
    part.querySelectorAll(":scope > li").map((entry) => {
      const list = entry.querySelector(".changes");
      const [name] = texts(entry, "code");
      return list ? [name, ...inside(list)] : name;
    });
  expect(inside(shown.querySelector(".plan > .changes")!)).toEqual([
    ['module.a["x.y"].module.b', "t.gone", 't.two["module.c."]'],
    "t.root",
    ["module.c", "t.one", ["module.d", "t.three"]],
  ]);
});

test("a long plan is folded, except modules in which something is destroyed", () => {
  const create = Array.from({ length: 40 }, (_, index): PlannedChange => {
    return { address: `module.a.t.x[${index}]`, action: "create" };
  });
  const changes = [{ address: "module.b.t.y", action: "delete" as const }, ...create];
  const modules = dom(view({ changes })).querySelectorAll(".module > details");
  expect(modules.map((one) => [one.hasAttribute("open"), ...texts(one, "summary code")])).toEqual([
    [true, "module.b"],
    [false, "module.a"],
  ]);
});

test("only the kinds of changes that there are have a part of the bar and a number", () => {
  const counts = { ...emptySummary.counts, delete: 1, create: 1999 };
  const shown = dom(view({ counts }));
  expect(texts(shown, "strong")).toEqual(["1", "1,999"]);
  const widths = shown.querySelectorAll(".share rect").map((part) => part.getAttribute("width"));
  expect(widths.map((width) => Math.round(Number(width)))).toEqual([16, 996]);
  expect(view({})).not.toContain("share");
});

test("an attribute is added, removed or changed, and one that forces a replacement says so", () => {
  const attributes = [
    { path: "ports[0]", before: 80, after: 443 },
    { path: "zone", before: "a", after: null },
    { path: "tier", before: null, after: "b" },
    { path: "id", unknown: true },
    { path: "secret", sensitive: true },
  ];
  const replaced_by = ["ports.0", "network"];
  const text = view({ changes: [{ address: "t.a", action: "replace", replaced_by, attributes }] });
  expect(rowsIn(text)).toEqual([
    "~ ports[0] 80 → 443 forces the replacement",
    '− zone "a"',
    '+ tier "b"',
    "+ id (known after the apply)",
    "~ secret (sensitive)",
  ]);
  expect(texts(dom(text), "code.why")).toEqual(["network"]);
});

test("long text is compared by lines, with three unchanged ones around a change", () => {
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`);
  const next = lines.with(7, "other").concat("more");
  expect(diff(lines.join("\n"), next.join("\n"))).toEqual([
    " ⋯ 4 unchanged lines",
    " line 4",
    " line 5",
    " line 6",
    "-line 7",
    "+other",
    " line 8",
    " line 9",
    " line 10",
    " line 11",
    "+more",
  ]);
});

test("JSON in one line is compared by its members, and keeps all digits of its numbers", () => {
  const json = (id: string): string =>
    `{"Version":"2012-10-17","list":[],"Statement":[{"id":${id}},{"text":"a,{\\"b"}]}`;
  expect(diff(json("12345678901234567890"), json("1e400"))).toEqual([
    " {",
    '   "Version": "2012-10-17",',
    '   "list": [],',
    '   "Statement": [',
    "     {",
    '-      "id": 12345678901234567890',
    '+      "id": 1e400',
    "     },",
    "     {",
    '       "text": "a,{\\"b"',
    "     }",
    "   ]",
    " }",
  ]);
  expect(linesOf("[".repeat(4000))).toBe(null);
});

test("hostile text in a difference is only text, and a large one is not searched for what stays", () => {
  const [row] = rowsIn(
    view({
      changes: [
        {
          address: "t.\u202ea",
          action: "update",
          attributes: [{ path: "a", before: "x\n<b>\u202e\u0007\t", after: "x\n<i>😀\n" }],
        },
      ],
    }),
  );
  expect(row).toContain("<b>\\u202e\\u0007");
  const lines = (part: string) => Array.from({ length: 400 }, (_, at) => `${part}${at % 300}`);
  const looks = dom(lineDiff(lines("a"), lines("b"))!.text).querySelectorAll(".diff > *");
  expect(looks.map(({ tagName }) => tagName).join()).toMatch(/^(DEL,){400}(INS,?){400}$/);
  const tooLong = linesOf("x\n".repeat(401))!;
  expect(lineDiff(tooLong, ["y"])).toBe(null);
});

test("a plan of which something is left out says what, and whether the log has it", () => {
  const warning = (plan: object, more: object = {}) =>
    texts(view({ truncated: true, ...plan }, more), ".warning.flow");
  expect(warning({})).toEqual([
    "Some values of this plan are too large to be shown here: the log has them.",
  ]);
  expect(warning({ changes_omitted: 2 }, { isLogRemoved: true })).toEqual([
    "This plan has more changes than are shown here: the log, which had them, was removed.",
  ]);
});
