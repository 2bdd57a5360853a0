/** Single form fields. */
import { expect, test } from "vitest";
import { choice } from "../../../../control-plane/console/page/fields.ts";
import { Form } from "../../../../control-plane/console/page/form.ts";

test("a selected value stays selected when the truncated list does not contain it", () => {
  const drawn = (zone: string) => {
    const { text } = choice(new Form({ zone }), { name: "zone", label: "Zone" }, [["new", "New"]]);
    return [...text.matchAll(/<option value="([^"]*)" (selected)?/g)].map(([, value, is]) => [
      value,
      is,
    ]);
  };
  expect(drawn("old")).toEqual([
    ["old", "selected"],
    ["new", undefined],
  ]);
  expect(drawn("new")).toEqual([["new", "selected"]]);
  expect(drawn("")).toEqual([["new", undefined]]);
});
