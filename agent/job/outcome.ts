/** What a job left behind, as the control plane is told. */
import { readFile, stat } from "node:fs/promises";
import type { ExecutionMetadata } from "../../protocol/jobs.ts";
import { StepFailed } from "./context.ts";

/** The report's route takes 4 MiB. */
const metadataLimit = 2 * 1024 * 1024;
const outputLimit = 256 * 1024;
const fileLimit = 32 * 1024 * 1024;

const wellKnown = ["cluster_name", "cluster_endpoint", "gitops_url"] as const;

interface Output {
  readonly sensitive: boolean;
  readonly type: unknown;
  readonly value?: unknown;
}

/** Reads `output -json`. The values of sensitive outputs go nowhere but to the log's masker. */
export async function metadataOf(
  file: string,
): Promise<{ metadata: ExecutionMetadata; secrets: string[] }> {
  const { size } = await stat(file);
  if (size > fileLimit) throw new StepFailed(`output: ${size} bytes of outputs are too many`);
  return metadataFrom(JSON.parse(await readFile(file, "utf8")) as Record<string, Output>);
}

/** The pure part of `metadataOf`. */
export function metadataFrom(all: Readonly<Record<string, Output>>): {
  metadata: ExecutionMetadata;
  secrets: string[];
} {
  const metadata: ExecutionMetadata = {};
  for (const name of wellKnown) {
    const output = all[name];
    if (!output || output.sensitive || typeof output.value !== "string") continue;
    if (output.value.length <= 4096) metadata[name] = output.value;
  }
  const outputs: Record<string, unknown> = {};
  let size = 0;
  for (const [name, { type, value, sensitive }] of Object.entries(all)) {
    const bytes = sensitive ? 0 : Buffer.byteLength(JSON.stringify(value) ?? "");
    const fits = bytes <= outputLimit && size + bytes <= metadataLimit;
    if (fits) size += bytes;
    outputs[name] = sensitive
      ? { type, sensitive: true }
      : { type, sensitive: false, ...(fits ? { value } : { omitted_bytes: bytes }) };
  }
  return {
    metadata: { ...metadata, outputs },
    secrets: Object.values(all).flatMap(({ sensitive, value }) => (sensitive ? texts(value) : [])),
  };
}

/** Every text and number in a value, for the masker. */
export function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}
