import { Type } from "typebox";
import { describe, expect, it } from "vitest";
import { compileValidator } from "../../../control-plane/domain/validation.ts";

const schema = Type.Object({
  words: Type.Array(Type.String({ minLength: 1, maxLength: 3, pattern: "^(a|b|(c/)*)+$" }), {
    maxItems: 5000,
    uniqueItems: true,
  }),
});
const validate = compileValidator({ schema, httpPart: "body" });
const faultsOf = (input: unknown) =>
  validate(input)
    ? []
    : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);

describe("the validator of a body", () => {
  it("accepts valid input without converting it", () => {
    expect(faultsOf({ words: ["a", "ab"] })).toEqual([]);
    expect(faultsOf({ words: [5] })).toEqual(["/words/0 type"]);
  });

  it("lists every fault of a small body", () => {
    expect(faultsOf({ words: ["x", "a", 5] })).toEqual(["/words/0 pattern", "/words/2 type"]);
  });

  it("lists one fault of a large body, and none behind too many items", () => {
    expect(faultsOf({ words: Array.from({ length: 4000 }, () => 5) })).toEqual(["/words/0 type"]);
    expect(faultsOf({ words: Array.from({ length: 6000 }, () => ({})) })).toEqual([
      "/words maxItems",
    ]);
  });

  it("matches no pattern against an overlong text, which would exhaust the stack", () => {
    expect(faultsOf({ words: ["c/".repeat(4_000_000)] })).toEqual(["/words/0 maxLength"]);
  });

  it("counts a surrogate pair as one character", () => {
    expect(faultsOf({ words: ["😀😀😀"] })).toEqual(["/words/0 pattern"]);
    expect(faultsOf({ words: ["😀😀😀a"] })).toEqual(["/words/0 maxLength", "/words/0 pattern"]);
  });
});
