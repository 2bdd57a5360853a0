import { expect, test } from "vitest";
import { withKnown } from "../../protocol/known-plan.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import { emptySummary } from "../helpers/plane/plan-summaries.ts";

const unknown = (path: string) => ({ path, unknown: true });

test("attributes that the apply has made known take the place of the unknown ones", () => {
  const { changes } = withKnown(
    {
      ...emptySummary,
      changes: [
        {
          address: "a.b",
          action: "replace",
          attributes: [
            { ...unknown("id"), before: "i-0" },
            unknown("tags"),
            unknown("tag"),
            { ...unknown("secret"), sensitive: true },
            { path: "size", before: 1, after: 2 },
          ],
        },
        { address: "a.c", action: "create", attributes: [unknown("id")] },
        { address: "a.d", action: "create" },
      ],
    },
    {
      made_known: {
        resources: [
          {
            address: "a.b",
            attributes: [
              { path: "id", after: "i-1" },
              { path: "tags.x", after: "1" },
              { path: "tags[0]", sensitive: true },
              { path: "secret", after: "never" },
              { path: "size", after: 3 },
            ],
          },
        ],
        checks: [],
      },
    },
  );
  expect(changes).toEqual([
    {
      address: "a.b",
      action: "replace",
      attributes: [
        { path: "id", before: "i-0", after: "i-1" },
        { path: "tags.x", after: "1" },
        { path: "tags[0]", sensitive: true },
        unknown("tag"),
        { ...unknown("secret"), sensitive: true },
        { path: "size", before: 1, after: 2 },
      ],
    },
    { address: "a.c", action: "create", attributes: [unknown("id")] },
    { address: "a.d", action: "create" },
  ]);
});

test("parts of outputs that the apply has made known take the place of the unknown ones", () => {
  const output = { action: "create" as const, sensitive: false };
  const outputs: PlanSummary["outputs"] = [
    { ...output, name: "url", attributes: [unknown("")] },
    { ...output, name: "nodes", attributes: [unknown('[0]["a.b"].id'), unknown("[7].id")] },
    { ...output, name: "hidden", attributes: [unknown("")] },
    { ...output, name: "toString", attributes: [unknown("")] },
  ];
  const reported = {
    url: { value: "https://a", sensitive: false },
    nodes: { value: [{ "a.b": { id: 5 } }], sensitive: false },
    hidden: { value: "never", sensitive: true },
  };
  const known = withKnown({ ...emptySummary, outputs }, { outputs: reported });
  expect(known.outputs.map(({ attributes }) => attributes)).toEqual([
    [{ path: "", unknown: false, after: "https://a" }],
    [{ path: '[0]["a.b"].id', unknown: false, after: 5 }, unknown("[7].id")],
    [unknown("")],
    [unknown("")],
  ]);
});

test("checks have their result after the apply, and one that passes is not shown", () => {
  const named = ["a", "b", "c", "d"].map((address) => ({ address, status: "unknown" as const }));
  const known = withKnown(
    { ...emptySummary, checks: [...named, { address: "e", status: "fail" }] },
    {
      made_known: {
        resources: [],
        checks: [
          { address: "a", status: "pass" },
          { address: "b", status: "fail" },
          { address: "c", status: "unknown" },
          { address: "e", status: "pass" },
          { address: "f", status: "pass" },
          { address: "g", status: "error" },
        ],
      },
    },
  );
  expect(known.checks).toEqual([
    { address: "b", status: "fail" },
    { address: "c", status: "unknown" },
    { address: "d", status: "unknown" },
    { address: "g", status: "error" },
  ]);
});
