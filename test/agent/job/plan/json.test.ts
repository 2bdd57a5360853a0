import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readPlan } from "../../../../agent/job/plan/json.ts";
import { secrecyOf } from "../../../../common/redaction/secrecy.ts";
import { mebibyte } from "../../../../common/units.ts";
import { folderForFile } from "../../../helpers/machine/folders.ts";

const root = folderForFile();

/** Reads a plan whose JSON has these numbers before and after. */
async function changesOf(before: string, after: string, padding = "") {
  const file = join(root, "plan.json");
  writeFileSync(
    file,
    `{"errored":false,"applyable":true,"padding":"${padding}","resource_changes":[{"address":"a.b","change":{
      "actions":["update"],"before":{"id":${before},"size":1},"after":{"id":${after},"size":2}}}]}\n`,
  );
  const { summary } = await readPlan(file, secrecyOf([]));
  return summary.changes[0]?.attributes;
}

it.each([
  ["small", ""],
  ["large", "x".repeat(mebibyte)],
])("a number keeps all its digits in the summary of a %s plan", async (_, padding) => {
  expect(await changesOf("9007199254740992", "9007199254740993", padding)).toEqual([
    {
      path: "id",
      before: 9007199254740992,
      after: "9007199254740993",
      large_numbers: ["after"],
    },
    { path: "size", before: 1, after: 2 },
  ]);
});

it("a large number is another value than its text, and equal to itself", async () => {
  const id = "12345678901234567890";
  expect(await changesOf(id, `"${id}"`)).toEqual([
    { path: "id", before: id, after: id, large_numbers: ["before"] },
    { path: "size", before: 1, after: 2 },
  ]);
  expect(await changesOf(id, id)).toEqual([{ path: "size", before: 1, after: 2 }]);
  expect(await changesOf(`[${id}]`, `{"a":${id}}`)).toEqual([
    { path: "id", before: [id], after: `{"a":"${id}"}` },
    { path: "size", before: 1, after: 2 },
  ]);
});

it("a plan that ends in the middle is refused", async () => {
  const file = join(root, "half.json");
  for (const text of ['{"errored":false', '{"resource_changes":[{"address":"a', "{} {}"]) {
    writeFileSync(file, text);
    await expect(readPlan(file, secrecyOf([]))).rejects.toThrow(/ended|Unexpected/);
  }
});
