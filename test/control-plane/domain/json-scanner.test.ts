import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JsonScanError, JsonScanner } from "../../../control-plane/domain/json-scanner.ts";
import { proving } from "../../helpers/project/proving.ts";

const longest = 4096;

function scan(bytes: Uint8Array, pieceBytes: number, levels = 50) {
  const found: unknown[] = [];
  const scanner = new JsonScanner(
    {
      onPlain: (name, json) => found.push([name, json]),
      onPart: (name) => found.push(name),
      onEntry: () => found.push("entry"),
    },
    levels,
  );
  for (let at = 0; at < bytes.length; at += pieceBytes)
    scanner.push(bytes.subarray(at, at + pieceBytes));
  return { found, isEnded: scanner.isEnded };
}

/** Returns undefined if the scanner refuses the bytes or they are incomplete. */
function accepted(bytes: Uint8Array, pieceBytes: number): unknown[] | undefined {
  try {
    const { found, isEnded } = scan(bytes, pieceBytes);
    return isEnded ? found : undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(JsonScanError);
    return undefined;
  }
}

test("returns the first level, however the bytes are split", () => {
  const text = ` { "a" : -1.50e+3 , "b\\n\\u00e9" : "\\"x\\"" , "c":[1,[2],{"d":3}, null], "e":{"f":[]} ,"g":true}\n`;
  for (const pieceBytes of [1, 2, 5, 1000])
    expect(scan(Buffer.from(text), pieceBytes)).toEqual({
      isEnded: true,
      found: [
        ["a", "-1.50e+3"],
        ["b\né", '"\\"x\\""'],
        "c",
        "entry",
        "entry",
        "entry",
        "entry",
        "e",
        ["g", "true"],
      ],
    });
});

test("returns what the entries of its lists hold, and nothing deeper", () => {
  const text =
    '{"a":[{"b":1,"c":[2,{"d":3},[4]],"e":{"f":5}},6,[{"g":7}],{"h":null}],"i":{"j":[{"k":8}]}}';
  for (const pieceBytes of [1, 4, 1000]) {
    const found: unknown[] = [];
    const listenerOf = (where: string) => ({
      onPlain: (name: string, json: string | undefined) => found.push([where, name, json]),
      onPart: (name: string) => found.push([where, name]),
      onEntry: () => found.push(where),
    });
    const scanner = new JsonScanner({ ...listenerOf("map"), entry: listenerOf("entry") }, 50);
    for (let at = 0; at < text.length; at += pieceBytes)
      scanner.push(Buffer.from(text.slice(at, at + pieceBytes)));
    expect(found).toEqual([
      ["map", "a"],
      "map",
      ["entry", "b", "1"],
      ["entry", "c"],
      "entry",
      "entry",
      "entry",
      ["entry", "e"],
      "map",
      "map",
      "map",
      ["entry", "h", "null"],
      ["map", "i"],
    ]);
  }
});

test("returns no long name and no long text", () => {
  const text = "é".repeat(longest);
  const json = JSON.stringify({ [text]: 1, a: text, b: "x".repeat(longest - 2) });
  expect(scan(Buffer.from(json), 100).found).toEqual([
    ["", "1"],
    ["a", undefined],
    ["b", `"${"x".repeat(longest - 2)}"`],
  ]);
});

test("refuses more than 50 levels", () => {
  const nested = (levels: number) => Buffer.from(`{"a":${"[".repeat(levels - 1)}`);
  expect(scan(nested(50), 7).isEnded).toBe(false);
  expect(() => scan(nested(51), 7)).toThrow("too deep");
});

test("accepts exactly the maps that JSON.parse accepts", () => {
  const characters = '"\\{}[]:,0129-+.eEtfnu \n\t\u0000x'.split("");
  const map = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
  const change = fc.record({
    at: fc.nat(),
    remove: fc.integer({ min: 0, max: 2 }),
    insert: fc.constantFrom(...characters, "true", "null", "0.5"),
  });
  const property = fc.property(
    map,
    fc.array(change, { maxLength: 3 }),
    fc.integer({ min: 1, max: 9 }),
    (value, changes, pieceBytes) => {
      let text = JSON.stringify(value);
      for (const { at, remove, insert } of changes) {
        const place = at % (text.length + 1);
        text = text.slice(0, place) + insert + text.slice(place + remove);
      }
      const found = accepted(Buffer.from(text), pieceBytes);
      expect({ text, isMap: found !== undefined }).toEqual({ text, isMap: isMap(text) });
    },
  );
  fc.assert(property, { numRuns: proving ? 200_000 : 2000 });
});

function isMap(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
