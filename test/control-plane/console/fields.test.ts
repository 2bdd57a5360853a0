/** Fields of forms by themselves. */
import { expect, test } from "vitest";
import { choice } from "../../../control-plane/console/page/fields.ts";
import { Form } from "../../../control-plane/console/page/form.ts";

test("what is chosen stays chosen where the list, cut to its newest, does not have it", () => {
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
