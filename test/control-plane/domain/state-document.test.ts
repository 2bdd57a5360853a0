import * as fc from "fast-check";
import { expect, test } from "vitest";
import { StateDocumentReader } from "../../../control-plane/domain/state-document.ts";
import { heapInUse } from "../../helpers/machine/heap.ts";

function read(text: string, pieceBytes = 7) {
  const reader = new StateDocumentReader();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes)
    reader.push(bytes.subarray(at, at + pieceBytes));
  return reader.end();
}

const state = (more: object = {}) => ({ version: 4, serial: 7, lineage: "a-b", ...more });

test("serial, lineage and the number of resources are found, however the bytes are split", () => {
  const text = JSON.stringify(
    {
      terraform_version: "1.11.4",
      outputs: { serial: { value: 'a "quoted" } ] \\ text', lineage: "no" } },
      ...state({ resources: [{ serial: 1, instances: [{}, {}] }, {}, {}], check_results: null }),
    },
    null,
    2,
  );
  for (const pieceBytes of [1, 2, 3, 64, 10_000])
    expect(read(text, pieceBytes)).toEqual({ serial: 7, lineage: "a-b", resources: 4 });
});

test("each instance of a managed resource counts, and no data source does", () => {
  const resources = [
    {
      module: "module.a",
      mode: "managed",
      type: "t",
      instances: Array.from({ length: 300 }, () => ({ a: [{}] })),
    },
    { instances: [{}, { deposed: "1" }], mode: "managed" },
    { mode: "data", instances: [{}, {}] },
    { instances: [{}], mode: "data" },
    { mode: "managed", instances: [] },
    { mode: "managed", instances: [{ instances: [1, 2] }, {}] },
  ];
  const checks = [{ mode: "data", instances: [{}] }];
  const text = JSON.stringify({ check_results: checks, ...state({ resources, x: checks }) });
  for (const pieceBytes of [1, 3, 10_000])
    expect(read(text, pieceBytes)).toMatchObject({ resources: 304 });
});

test("every document that JSON.parse accepts is read, and every truncated one is refused", () => {
  const json = fc.jsonValue({ noUnicodeString: false });
  fc.assert(
    fc.property(json, fc.integer({ min: 1, max: 20 }), fc.nat(), (value, pieceBytes, cut) => {
      const text = JSON.stringify({ extra: value, ...state({ resources: [value] }) });
      expect(read(text, pieceBytes)).toEqual({
        serial: 7,
        lineage: "a-b",
        resources: countOf(value),
      });
      expect(() => read(text.slice(0, cut % text.length), pieceBytes)).toThrow(
        /not a terraform state/,
      );
    }),
    { numRuns: 300 },
  );
});

test("a document with one byte removed is read only if JSON.parse accepts it", () => {
  const text = JSON.stringify(state({ resources: [{ a: [1, -2.5e3, true, null, "x"] }, "y"] }));
  for (let at = 0; at < text.length; at += 1) {
    const broken = text.slice(0, at) + text.slice(at + 1);
    if (isJson(broken)) continue;
    expect(() => read(broken)).toThrow(/not a terraform state/);
  }
});

test.for([
  ["an empty document", ""],
  ["an array", "[]"],
  ["a number", "4"],
  ["two documents", '{"version":4,"serial":1,"lineage":"a"}{}'],
  ["no version", '{"serial":1,"lineage":"a"}'],
  ["no serial", '{"version":4,"lineage":"a"}'],
  ["a serial that is text", '{"version":4,"serial":"1","lineage":"a"}'],
  ["a negative serial", '{"version":4,"serial":-1,"lineage":"a"}'],
  ["an uncountable serial", '{"version":4,"serial":1e300,"lineage":"a"}'],
  ["no lineage", '{"version":4,"serial":1}'],
  ["an empty lineage", '{"version":4,"serial":1,"lineage":""}'],
  ["a lineage that is too long", `{"version":4,"serial":1,"lineage":"${"a".repeat(500)}"}`],
  ["too many brackets", "[".repeat(1000)],
  ["a serial that is a list", '{"version":4,"serial":[1],"lineage":"a"}'],
  ["a serial that is given twice", '{"version":4,"serial":1,"lineage":"a","serial":{}}'],
  ["too many members", `{"version":4,"serial":1,"lineage":"a"${',"serial":1'.repeat(1000)}}`],
  ["an endless number", `{"serial":${"1".repeat(1000)}`],
])("%s is refused as a state", ([, text]) => {
  expect(() => read(text as string)).toThrow(/not a terraform state/);
});

test.for([
  ["that OpenTofu encrypted", '"encrypted_data":"eA==","encryption_version":"v0"'],
  ["that is encrypted and has a version", '"version":4,"resources":[],"encryption_version":"v0"'],
  ["of an old format", '"version":3,"modules":[{"path":["root"],"resources":{"a.b":{}}}]'],
])("a state %s is accepted, and the number of its resources is not known", ([, members]) => {
  expect(read(`{"serial":3,"lineage":"a",${members}}`)).toEqual({
    serial: 3,
    lineage: "a",
    resources: null,
  });
});

test("names are read as JSON has them, and of two equal ones the last counts", () => {
  const text =
    '{"version":4,"seri\\u0061l":6,"lineage":"a","serial":7,"resources":[1],"resources":[{},2]}';
  expect(read(text)).toEqual({ serial: 7, lineage: "a", resources: 2 });
});

test.for([
  ["one resource", '"resources":[{"a":[', "{},".repeat(20_000), "{}]}"],
  ["a number", '"a":[', "1".repeat(60_000), ""],
  ["a serial that is a list", '"serial":[', "1,".repeat(30_000), "1"],
  ["a lineage", '"lineage":["', "a".repeat(60_000), '"'],
  ["a name", '"a":[{"', "a".repeat(60_000), '":1}'],
])("%s of any size uses a bounded amount of memory", ([, begin, part, end]) => {
  const reader = new StateDocumentReader();
  reader.push(Buffer.from('{"version":4,"serial":7,"lineage":"a",'));
  reader.push(Buffer.from(begin!));
  const bytes = Buffer.from(part!);
  reader.push(bytes);
  const before = heapInUse();
  for (let count = 0; count < 64; count += 1) reader.push(bytes);
  expect(heapInUse() - before).toBeLessThan(2e6);
  reader.push(Buffer.from(`${end}],"version":4,"serial":7,"lineage":"a"}`));
  expect(reader.end()).toMatchObject({ serial: 7, lineage: "a" });
});

/** What an entry of `resources` counts as. */
function countOf(value: unknown): number {
  const { mode, instances } = Object(value) as Record<string, unknown>;
  if (mode === "data") return 0;
  return Array.isArray(instances) ? instances.length : 1;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("the place of the outputs is found, however the bytes are split, of a readable state", () => {
  const place = (text: string, pieceBytes: number) => {
    const reader = new StateDocumentReader();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += pieceBytes)
      reader.push(bytes.subarray(at, at + pieceBytes));
    reader.end();
    const { start, end } = reader.outputs ?? { start: 0, end: -1 };
    return bytes.toString("utf8", start, end + 1);
  };
  const outputs = { "é}": { value: ["]", { outputs: {} }] } };
  const entry = { outputs: { no: 1 }, instances: [{ outputs: {} }] };
  for (const pieceBytes of [1, 3, 10_000]) {
    for (const indent of [0, 2]) {
      const text = JSON.stringify(state({ resources: [entry], outputs, last: [[]] }), null, indent);
      expect(JSON.parse(place(text, pieceBytes))).toEqual(outputs);
    }
    expect(place(JSON.stringify(state()), pieceBytes)).toBe("");
    expect(place(JSON.stringify(state({ version: 3, outputs })), pieceBytes)).toBe("");
    const twice = JSON.stringify(state({ outputs })).replace(/\}$/, ',"outputs":null}');
    expect(place(twice, pieceBytes)).toBe("");
  }
});
