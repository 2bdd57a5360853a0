/** The outputs of terraform as a job reports them: bounded, and without secrets. */
import { parseExactly } from "./exact-json.ts";
import { texts } from "./json-texts.ts";
import { withinLimit } from "./redaction/secret-forms.ts";
import { kibibyte, mebibyte } from "./units.ts";

/** The report's route takes 4 MiB. */
export const metadataLimit = 2 * mebibyte;
/** Bytes of the JSON of one value. */
export const outputLimit = 256 * kibibyte;
const typeLimit = 16 * kibibyte;
const secretsLimit = mebibyte;

const wellKnown = ["cluster_name", "cluster_endpoint", "gitops_url"] as const;

/** One output, as `output -json` prints it and a state has it. */
export interface Output {
  readonly sensitive?: boolean;
  readonly type: unknown;
  readonly value?: unknown;
}

export interface Outputs {
  readonly metadata: {
    cluster_name?: string;
    cluster_endpoint?: string;
    gitops_url?: string;
    outputs: Record<string, unknown>;
    /** How many are left out; absent if none is. */
    outputs_omitted?: number;
  };
  /** Values of sensitive outputs, only for masking the log. */
  readonly secrets: string[];
}

/**
 * A state has them as `output -json` prints them. Undefined if it is encrypted or of an unknown
 * version.
 */
export function outputsInState(
  text: string,
  hides: (value: unknown) => boolean,
): Outputs | undefined {
  try {
    const { version, outputs } = parseExactly(text) as {
      version?: unknown;
      outputs?: Readonly<Record<string, Output>>;
    };
    return version === 4 && outputs ? metadataFrom(outputs, hides) : undefined;
  } catch {
    return undefined;
  }
}

export const metadataFrom = (
  given: Readonly<Record<string, Output>>,
  hides: (value: unknown) => boolean,
): Outputs =>
  bound(
    Object.fromEntries(
      Object.entries(given).map(([name, output]) => [name, markSensitive(output, hides)]),
    ),
  );

/** Bounds outputs from `markSensitive`. */
export function bound(all: Readonly<Record<string, Output>>): Outputs {
  const metadata: Outputs["metadata"] = { outputs: {} };
  // A map, because assignment loses a member called __proto__.
  const outputs = new Map<string, unknown>();
  for (const name of wellKnown) {
    const output = all[name];
    if (!output || output.sensitive || typeof output.value !== "string") continue;
    if (output.value.length <= 4096) metadata[name] = output.value;
  }
  let size = 0;
  let omitted = 0;
  for (const [name, { type: whole, value, sensitive }] of Object.entries(all)) {
    const typeBytes = bytesOf(whole);
    const type = typeBytes <= typeLimit ? whole : "omitted";
    const head = Buffer.byteLength(name) + Math.min(typeBytes, typeLimit);
    if (size + head > metadataLimit) {
      omitted += 1;
      continue;
    }
    size += head;
    const bytes = sensitive ? 0 : bytesOf(value);
    const fits = bytes <= outputLimit && size + bytes <= metadataLimit;
    if (fits) size += bytes;
    outputs.set(
      name,
      sensitive
        ? { type, sensitive: true }
        : { type, sensitive: false, ...(fits ? { value } : { omitted_bytes: bytes }) },
    );
  }
  metadata.outputs = Object.fromEntries(outputs);
  if (omitted > 0) metadata.outputs_omitted = omitted;
  return {
    metadata,
    secrets: withinLimit(
      bounded(
        Object.values(all).flatMap(({ sensitive, value }) => (sensitive ? texts(value) : [])),
      ),
    ),
  };
}

/** Marks outputs in which `hides` finds a secret, also in the type, which names attributes. */
export function markSensitive(
  output: Output,
  hides: (value: unknown) => boolean,
): Required<Output> {
  const { type, value, sensitive = false } = output;
  // What is too large is left out, so it is not searched.
  const isHidden = (part: unknown, limit: number): boolean => bytesOf(part) <= limit && hides(part);
  return {
    value,
    type: isHidden(type, typeLimit) ? "omitted" : type,
    sensitive: sensitive || isHidden(value, outputLimit),
  };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** Outputs are read last: terraform prints nothing afterwards that could show a value. */
function bounded(secrets: readonly string[]): string[] {
  let room = secretsLimit;
  return secrets.filter((secret) => {
    room -= secret.length;
    return room >= 0;
  });
}
