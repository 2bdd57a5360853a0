import { expect, it } from "vitest";
import { withVisibleDirections } from "../../common/control-sequences.ts";
import { Name } from "../../protocol/fields.ts";
import { visible } from "../../protocol/plan-text.ts";

const characters = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code));
const changedBy = (show: (text: string) => string) =>
  characters.filter((character) => show(character) !== character);

it("what terminals show escaped, no name may contain and plans show escaped too", () => {
  const invisible = changedBy(withVisibleDirections);
  expect(invisible).toHaveLength(22);
  const allowed = new RegExp((Name as { pattern?: string }).pattern ?? "");
  expect(invisible.filter((character) => allowed.test(character))).toEqual([]);
  expect(changedBy(visible)).toEqual(expect.arrayContaining(invisible));
});
