/** The outputs in a state that a user stores, bounded and masked as a runner reports them. */
import { buffer } from "node:stream/consumers";
import { parseExactly } from "../../../common/exact-json.ts";
import { metadataFrom, type Output } from "../../../common/outputs.ts";
import { secrecyOf } from "../../../common/redaction/secrecy.ts";
import { mebibyte } from "../../../common/units.ts";
import { outputsLimit, type ExecutionMetadata } from "../../../protocol/jobs.ts";
import type { StateDocumentReader } from "../../domain/state-document.ts";
import { findComponents, type SpecRow } from "../../store/configurations/configurations.ts";
import { findKnownSecrets } from "../claims/former-secrets.ts";
import type { Context } from "../context.ts";

/** Larger ones are not read: parsing them would delay other requests. A runner reports 2 MiB. */
const outputsBytes = 4 * mebibyte;
/** Making the patterns of a line takes 40 µs. */
const secretLines = 1000;

/**
 * Returns the outputs of a stored state; none if they cannot be read. Hidden are those that are
 * sensitive in the state, are hidden now, or contain a sensitive value that the configuration has
 * or had.
 */
export async function outputsOf(
  context: Context,
  spec: Pick<SpecRow, "id" | "zone_id" | "definition">,
  blob: string,
  { outputs: range }: StateDocumentReader,
): Promise<ExecutionMetadata> {
  if (!range || range.end - range.start >= outputsBytes) return {};
  const json = (await buffer(await context.blobs.read(blob, range))).toString();
  const secrets = await findKnownSecrets(context, spec);
  const lines = secrets.reduce((sum, text) => sum + text.split("\n").length, 0);
  const hides = lines > secretLines ? () => true : secrecyOf(secrets).hides;
  const components = await context.store.read.all(findComponents, { spec: spec.id });
  const hidden = new Set(components.flatMap((one) => (one.sensitive === 1 ? [one.name] : [])));
  const outputs = Object.entries(parseExactly(json) as Record<string, unknown>)
    .filter((entry): entry is [string, Output] => isOutput(...entry))
    .slice(0, outputsLimit)
    .map(([name, output]) => [name, hidden.has(name) ? { ...output, sensitive: true } : output]);
  return metadataFrom(Object.fromEntries(outputs) as Record<string, Output>, hides).metadata;
}

/** A user can store a document that terraform would refuse. PostgreSQL stores no NUL. */
const isOutput = (name: string, output: unknown): boolean =>
  /^[\p{ID_Start}_][\p{ID_Continue}-]*$/u.test(name) &&
  typeof output === "object" &&
  output !== null &&
  "value" in output &&
  !JSON.stringify(output).includes(String.raw`\u0000`);
