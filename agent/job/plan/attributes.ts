/**
 * The attributes that a plan changes, without values that are sensitive in it or that contain a
 * secret which the agent knows.
 */
import { isDeepStrictEqual } from "node:util";
import {
  identifier,
  planAttributeCount,
  planAttributesLimit,
  planAttributeValues,
  planValueLimit,
} from "../../../protocol/limits.ts";
import type { PlannedAttribute } from "../../../protocol/plan-summary.ts";
import { parseExactly } from "../../../common/exact-json.ts";
import { firstDifference } from "../../../common/first-difference.ts";
import { texts } from "../../../common/json-texts.ts";
import type { Secrecy } from "../../../common/redaction/secrecy.ts";
import { LargeNumber, withoutLargeNumbers } from "./large-number.ts";

/** A change as in `show -json`. */
export interface Change {
  readonly actions: readonly string[];
  readonly before?: unknown;
  readonly after?: unknown;
  readonly after_unknown?: unknown;
  readonly before_sensitive?: unknown;
  readonly after_sensitive?: unknown;
  readonly replace_paths?: readonly (readonly (string | number)[])[];
  readonly importing?: unknown;
}

/** The attributes of all resources of a plan together have a limit. */
export class AttributeBudget {
  #bytes = planAttributesLimit;
  #values = planAttributeValues;

  /**
   * Returns what fits. `share`: the part of the whole that may be used up, so that many new
   * resources do not hide changes of the others.
   */
  take(
    attributes: Iterable<PlannedAttribute>,
    share: number,
  ): { kept: PlannedAttribute[]; isCut: boolean } {
    const kept: PlannedAttribute[] = [];
    const [bytesLeft, valuesLeft] = [planAttributesLimit, planAttributeValues].map(
      (limit) => limit * (1 - share),
    ) as [number, number];
    for (const attribute of attributes) {
      const bytes = this.#bytes - Buffer.byteLength(JSON.stringify(attribute)) - 1;
      const values = this.#values - countValues(attribute);
      if (kept.length === planAttributeCount || bytes < bytesLeft || values < valuesLeft)
        return { kept, isCut: true };
      [this.#bytes, this.#values] = [bytes, values];
      kept.push(attribute);
    }
    return { kept, isCut: false };
  }
}

/** Members and entries, as the control plane counts them before it parses a report. */
function countValues({ before, after }: PlannedAttribute): number {
  const entries = [before, after].flatMap((value) => (Array.isArray(value) ? value : []));
  return 6 + entries.length;
}

/** Returns what the change does to each attribute; those that stay are left out. */
export function* attributesOf(change: Change, secrecy: Secrecy): Iterable<PlannedAttribute> {
  const leaves = leavesOf("", {
    before: change.before,
    after: change.after,
    unknown: change.after_unknown,
    wasSensitive: change.before_sensitive,
    isSensitive: change.after_sensitive,
  });
  // A computed attribute often repeats a sensitive one, and is not marked itself.
  const own = new Set(
    [...sensitiveTexts(change.before, change.before_sensitive)]
      .concat([...sensitiveTexts(change.after, change.after_sensitive)])
      .filter((text) => text.length >= shortestSecret)
      .slice(0, ownLimit),
  );
  const hides = (value: unknown): boolean =>
    value !== undefined &&
    (secrecy.hides(value) ||
      texts(value).some((text) => [...own].some((secret) => text.includes(secret))));
  for (const { path, sensitive, unknown, ...values } of leaves) {
    const [before, after] = [values.before, values.after].map(withoutLargeNumbers);
    const numbers = (["before", "after"] as const).filter(
      (side) => values[side] instanceof LargeNumber,
    );
    const isHidden = sensitive === true || hides(before) || hides(after);
    const [old, next] = fromDifference(before, after);
    yield {
      path: shortened(secrecy.mask(path), pathLimit),
      ...(isHidden || before === undefined ? {} : { before: boundedValue(old) }),
      ...(isHidden || after === undefined ? {} : { after: boundedValue(next) }),
      ...(isHidden ? { sensitive: true } : {}),
      ...(unknown === true ? { unknown: true } : {}),
      ...(isHidden || numbers.length === 0 ? {} : { large_numbers: numbers }),
    };
  }
}

/** Shorter values are masked nowhere: they appear everywhere by chance. */
const shortestSecret = 6;
/** How many texts of one resource are searched in its other attributes. */
const ownLimit = 100;
const pathLimit = 256;
/** Deeper values are shown as one attribute without its value. */
const depthLimit = 20;

interface Node {
  readonly before: unknown;
  readonly after: unknown;
  /** Mirror the shape of the values, with `true` where it applies to all below. */
  readonly unknown: unknown;
  readonly wasSensitive: unknown;
  readonly isSensitive: unknown;
}

function* leavesOf(path: string, node: Node, depth = 0): Iterable<PlannedAttribute> {
  const { before = null, after = null, unknown, wasSensitive, isSensitive } = node;
  const isMarked = hasMark(wasSensitive) || hasMark(isSensitive);
  if (wasSensitive === true || isSensitive === true) {
    const isMarkedAnew = before !== null && after !== null && wasSensitive !== isSensitive;
    if (!isMarkedAnew && !hasMark(unknown) && isSame(before, after)) return;
    yield { path, sensitive: true, ...(hasMark(unknown) ? { unknown: true } : {}) };
  } else if (unknown === true || (before === null && isUnknownList(unknown))) {
    // A list is unknown too if no entry is known.
    const isWhole = isMarked || isPlain(before) || depth === depthLimit;
    const below = isWhole ? [] : [...parts(path, node)];
    const isShown = before !== null && isPlain(before);
    if (below.length > 0)
      for (const [name, part] of below)
        yield* leavesOf(name, { ...part, unknown: true }, depth + 1);
    else if (isMarked) yield { path, unknown: true, sensitive: true };
    else yield { path, ...(isShown ? { before } : {}), unknown: true };
  } else {
    const below = [...parts(path, node)];
    const isDeep = depth === depthLimit || below.length === 0;
    if (!isDeep) for (const [name, part] of below) yield* leavesOf(name, part, depth + 1);
    else if (isSame(before, after) && !hasMark(unknown)) return;
    else if (isMarked) yield { path, sensitive: true };
    else if (below.length > 0) yield { path };
    else yield { path, ...(before === null ? {} : { before }), after };
  }
}

/** As terraform writes it: a key that is no identifier is quoted, as in `tags["kubernetes.io/name"]`. */
export function pathOf(path: string, name: string): string {
  if (!identifierForm.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

const identifierForm = new RegExp(`^${identifier}$`, "u");

/** Returns what a value consists of; nothing for a plain value and a list of plain values. */
function* parts(path: string, node: Node): Iterable<[path: string, part: Node]> {
  const inside = insideOf(node);
  const values = [inside.before, inside.after].filter((value) => value !== undefined);
  const marks = [inside.unknown, inside.wasSensitive, inside.isSensitive];
  const shapes = [...values, inside.unknown].filter((value) => value && typeof value === "object");
  const isList = shapes.every(Array.isArray);
  if (!shapes.some(isParted) || !values.every(isList ? Array.isArray : isMap)) return;
  if (isList && values.every(isPlain) && !marks.some(hasMark)) return;
  const names = new Set(shapes.flatMap((value) => Object.keys(record(value))));
  for (const name of isList ? names : [...names].toSorted()) {
    const of = (value: unknown): unknown =>
      Object.hasOwn(record(value), name) ? record(value)[name] : undefined;
    yield [
      isList ? `${path}[${name}]` : pathOf(path, name),
      {
        before: of(inside.before),
        after: of(inside.after),
        unknown: of(inside.unknown),
        wasSensitive: of(inside.wasSensitive),
        isSensitive: of(inside.isSensitive),
      },
    ];
  }
}

/** A text that is JSON before and after, such as a policy, is compared part by part. */
function insideOf(node: Node): Node {
  const [before, after] = [node.before ?? undefined, node.after ?? undefined];
  const [old, next] = before === after ? [] : [parsed(before), parsed(after)];
  const isJson = isParted(old) && isParted(next) && !isSame(old, next);
  return isJson ? { ...node, before: old, after: next } : { ...node, before, after };
}

function parsed(text: unknown): unknown {
  if (typeof text !== "string" || text.length > jsonLimit || !/^[[{]/.test(text)) return undefined;
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}
const jsonLimit = 65_536;

const isUnknownList = (unknown: unknown): boolean =>
  Array.isArray(unknown) && unknown.length > 0 && unknown.every((mark) => mark === true);

/** False, too, for values that are nested too deeply to be compared. */
function isSame(one: unknown, other: unknown): boolean {
  try {
    return isDeepStrictEqual(one, other);
  } catch {
    return false;
  }
}

/** Whether a mark is set at this place or below. */
export const hasMark = (mark: unknown): boolean =>
  mark === true || (typeof mark === "object" && mark !== null && Object.values(mark).some(hasMark));

const isMap = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof LargeNumber);

const isParted = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

const isPlain = (value: unknown): boolean =>
  Array.isArray(value) ? !value.some(isParted) : !isParted(value);

const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

function sensitiveTexts(value: unknown, mark: unknown): string[] {
  if (mark === true) return texts(withoutLargeNumbers(value));
  return Object.entries(record(mark)).flatMap(([name, below]) =>
    sensitiveTexts(record(value)[name], below),
  );
}

/** Cuts two texts that are too long to the parts from shortly before their first difference. */
function fromDifference(before: unknown, after: unknown): [before: unknown, after: unknown] {
  if (typeof before !== "string" || typeof after !== "string") return [before, after];
  if (before.length <= planValueLimit && after.length <= planValueLimit) return [before, after];
  const difference = firstDifference(before, after);
  if (difference < planValueLimit / 2) return [before, after];
  const earliest = difference - contextLimit;
  const line = before.lastIndexOf("\n", before.lastIndexOf("\n", difference - 1) - 1) + 1;
  const start = Math.max(line, earliest);
  return [`…${before.slice(start).toWellFormed()}`, `…${after.slice(start).toWellFormed()}`];
}

/** Characters that are shown before the first difference: the line before it, if it is not longer. */
const contextLimit = 400;

/** Returns a plain value or a list of them, not longer than the limit. */
function boundedValue(value: unknown): unknown {
  if (typeof value === "string") return shortened(value, planValueLimit);
  if (!isPlain(value)) return shortened(JSON.stringify(value), planValueLimit);
  if (!Array.isArray(value) || JSON.stringify(value).length <= planValueLimit) return value;
  let room = planValueLimit;
  const kept = value.filter((entry) => (room -= JSON.stringify(entry).length + 1) > 0);
  return [...kept, "…"];
}

const shortened = (text: string, limit: number): string =>
  text.length > limit ? `${text.slice(0, limit - 1).toWellFormed()}…` : text;
