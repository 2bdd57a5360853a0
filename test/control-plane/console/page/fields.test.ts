/** Single form fields. */
import { expect, test } from "vitest";
import { choice } from "../../../../control-plane/console/page/fields.ts";
import { dom } from "../../../helpers/console/forms.ts";
import { Form } from "../../../../control-plane/console/page/form.ts";

test("a selected value stays selected when the truncated list does not contain it", () => {
  const drawn = (zone: string) => {
    const { text } = choice(new Form({ zone }), { name: "zone", label: "Zone" }, [["new", "New"]]);
    const options = dom(text).querySelectorAll("option");
    return options.map(({ attributes: { value, selected } }) => [value, selected]);
  };
  expect(drawn("old")).toEqual([
    ["old", ""],
    ["new", undefined],
  ]);
  expect(drawn("new")).toEqual([["new", ""]]);
  expect(drawn("")).toEqual([["new", undefined]]);
});
