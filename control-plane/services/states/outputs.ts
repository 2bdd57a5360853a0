/** The outputs in a state that a user stores, bounded and masked as a runner reports them. */
import { buffer } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseExactly } from "../../../common/exact-json.ts";
import { bound, markSensitive, type Output } from "../../../common/outputs.ts";
import { secrecyOf } from "../../../common/redaction/secrecy.ts";
import { kibibyte, mebibyte } from "../../../common/units.ts";
import { outputsLimit, type ExecutionMetadata } from "../../../protocol/jobs.ts";
import { findExcess } from "../../domain/json-shape.ts";
import type { StateDocumentReader } from "../../domain/state-document.ts";
import { findComponents, type SpecRow } from "../../store/configurations/configurations.ts";
import { findKnownSecrets } from "./former-secrets.ts";
import type { Context } from "../context.ts";

/** What exceeds these is not read, because it would delay other requests. A runner reports 2 MiB. */
const outputsBytes = 4 * mebibyte;
/** Parsing takes 1.5 µs for each value. */
const outputsLimits = { levels: 500, values: 20_000 };
/** Making the patterns takes 40 µs for each line, and 1 ms for each KiB. */
const secretLines = 1000;
const secretBytes = 64 * kibibyte;
/** So long other requests wait for the search in outputs, and for the rest of the present one. */
const turnMilliseconds = 5;

/**
 * Returns the outputs of a stored state; none if they cannot be read. Hidden are those that are
 * sensitive in the state, are hidden now, or contain a sensitive value that the configuration has
 * or had.
 */
export async function outputsOf(
  context: Context,
  spec: Pick<SpecRow, "id" | "zone_id">,
  blob: string,
  { outputs: range }: StateDocumentReader,
): Promise<ExecutionMetadata> {
  if (!range || range.end - range.start >= outputsBytes) return {};
  const json = await buffer(await context.blobs.read(blob, range));
  if (findExcess(json, outputsLimits) !== undefined) return {};
  const secrets = await findKnownSecrets(context, spec);
  const lines = secrets.reduce((sum, text) => sum + text.split("\n").length, 0);
  const bytes = secrets.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const isSearched = lines <= secretLines && bytes <= secretBytes;
  const hides = isSearched ? secrecyOf(secrets).hides : () => true;
  const components = await context.store.read.all(findComponents, { spec: spec.id });
  const hidden = new Set(components.flatMap((one) => (one.sensitive === 1 ? [one.name] : [])));
  const outputs = Object.entries(parseExactly(json.toString()) as Record<string, unknown>).filter(
    (entry): entry is [string, Output] => isOutput(...entry),
  );
  const marked: [string, Output][] = [];
  let turn = performance.now();
  for (const [name, output] of outputs.slice(0, outputsLimit)) {
    if (performance.now() - turn > turnMilliseconds) {
      await nextTurn();
      turn = performance.now();
    }
    marked.push([
      name,
      markSensitive(hidden.has(name) ? { ...output, sensitive: true } : output, hides),
    ]);
  }
  const { metadata } = bound(Object.fromEntries(marked));
  const omitted = outputs.length - Object.keys(metadata.outputs).length;
  return { ...metadata, ...(omitted > 0 ? { outputs_omitted: omitted } : {}) };
}

/** A user can store a document that terraform would refuse. PostgreSQL stores no NUL. */
const isOutput = (name: string, output: unknown): boolean =>
  /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u.test(name) &&
  typeof output === "object" &&
  output !== null &&
  "value" in output &&
  !JSON.stringify(output).includes(String.raw`\u0000`);
