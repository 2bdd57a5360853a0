import { describe, expect, it } from "vitest";
import { idPrefixOf, isWholeId } from "../../../cli/api/ids.ts";

const id = "01890a5d-ac96-7000-8000-00000000000a";

describe("the beginning of an id", () => {
  it.each([
    [id, id],
    [id.toUpperCase(), id],
    [id.replaceAll("-", ""), id],
    ["0189", "0189"],
    ["01890a5d-", "01890a5d"],
    ["01890a5d-ac96", "01890a5d-ac96"],
    ["01890a5dac96", "01890a5d-ac96"],
    ["01890A5D-AC96-7", "01890a5d-ac96-7"],
  ])("is read from %j", (text, prefix) => {
    expect(idPrefixOf(text)).toBe(prefix);
  });

  it.each(["", "-", "018", "018-", "network", "0189%", "01-89", "0189-0a5d", `${id}0`])(
    "is not %j",
    (text) => {
      expect(idPrefixOf(text)).toBeUndefined();
    },
  );

  it("is the whole id only with all digits", () => {
    expect([id, id.slice(0, -1), "network"].map(isWholeId)).toEqual([true, false, false]);
  });
});
