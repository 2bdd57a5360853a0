import { expect, test } from "vitest";
import { select } from "../../../control-plane/http/range.ts";

const etag = '"abc"';
const part = (start: number, end: number) => ({ kind: "part", start, end });
const whole = { kind: "whole" };
const outside = { kind: "outside" };
const unchanged = { kind: "unchanged" };

test.for([
  [{}, whole],
  [{ range: "bytes=0-0" }, part(0, 0)],
  [{ range: "bytes=10-19" }, part(10, 19)],
  [{ range: "bytes=90-" }, part(90, 99)],
  [{ range: "bytes=90-1000" }, part(90, 99)],
  [{ range: "bytes=-5" }, part(95, 99)],
  [{ range: "bytes=-500" }, part(0, 99)],
  [{ range: "bytes=100-" }, outside],
  [{ range: "bytes=-0" }, outside],
  [{ range: "bytes=20-10" }, whole],
  [{ range: "bytes=0-1,5-6" }, whole],
  [{ range: "lines=1-2" }, whole],
  [{ range: "bytes=-" }, whole],
  [{ range: "bytes=0-9", "if-range": etag }, part(0, 9)],
  [{ range: "bytes=0-9", "if-range": '"old"' }, whole],
  [{ range: "bytes=0-9", "if-range": 'W/"abc"' }, whole],
  [{ "if-none-match": etag }, unchanged],
  [{ "if-none-match": '"old", W/"abc"', range: "bytes=0-9" }, unchanged],
  [{ "if-none-match": "*" }, unchanged],
  [{ "if-none-match": '"old"', range: "bytes=0-9" }, part(0, 9)],
] as const)("select returns for %j and 100 bytes: %j", ([headers, selection]) => {
  expect(select(headers, etag, 100)).toEqual(selection);
});

test("every range of empty content is outside", () => {
  expect(select({ range: "bytes=0-0" }, etag, 0)).toEqual(outside);
  expect(select({ range: "bytes=-1" }, etag, 0)).toEqual(outside);
  expect(select({}, etag, 0)).toEqual(whole);
});
