/** Conditional and range requests for content with a digest (RFC 9110 §13 and §14). */
import type { IncomingHttpHeaders } from "node:http";

/** Which part of the content to send. */
export type Selection =
  | { readonly kind: "whole" }
  | { readonly kind: "unchanged" }
  | { readonly kind: "part"; readonly start: number; readonly end: number }
  | { readonly kind: "outside" };

/** If-None-Match, then Range with If-Range. Several or other ranges: the whole content. */
export function select(headers: IncomingHttpHeaders, etag: string, size: number): Selection {
  if (matches(headers["if-none-match"], etag)) return { kind: "unchanged" };
  const condition = headers["if-range"];
  if (headers.range === undefined || (condition !== undefined && condition !== etag))
    return { kind: "whole" };
  const [, first, last] = /^bytes *= *(\d*)-(\d*)$/i.exec(headers.range.trim()) ?? [];
  if (first === undefined || last === undefined || (first === "" && last === ""))
    return { kind: "whole" };
  if (first === "") return part(Math.max(0, size - Number(last)), size - 1, size);
  if (last !== "" && Number(last) < Number(first)) return { kind: "whole" };
  return part(Number(first), last === "" ? size - 1 : Math.min(Number(last), size - 1), size);
}

const part = (start: number, end: number, size: number): Selection =>
  start < size && start <= end ? { kind: "part", start, end } : { kind: "outside" };

/** If-None-Match compares weakly: `W/` makes no difference. */
const matches = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  header
    .split(",")
    .map((tag) => tag.trim().replace(/^W\//, ""))
    .some((tag) => tag === "*" || tag === etag);
