import { expect, test } from "vitest";
import { formFields, parseForm } from "../../../../control-plane/console/page/form-body.ts";

test("a form body is parsed as browsers encode it", () => {
  const text = "a=1+2%2B%20%C3%A9&b=x&b=y&c&=d&__proto__=p&e=%zz";
  expect({ ...parseForm(Buffer.from(text)) }).toMatchObject({
    a: "1 2+ é",
    b: ["x", "y"],
    c: "",
    e: "%zz",
  });
});

test("a form with too many fields is refused", () => {
  const form = (fields: number) => parseForm(Buffer.from("a&".repeat(fields - 1)));
  expect(form(formFields)["a"]).toHaveLength(formFields - 1);
  expect(() => form(formFields + 1)).toThrow("The form has more than 10,000 fields");
});
