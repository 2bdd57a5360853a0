/** Formats Terraform outputs. */
import type { Job } from "../../protocol/jobs.ts";
import { clean, styled } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";

interface Output {
  readonly value?: unknown;
  readonly sensitive?: boolean;
}

/** Returns one line per output; the value of a sensitive one is not shown. */
export function outputLines({ execution_metadata }: Pick<Job, "execution_metadata">): string[] {
  const outputs = Object.entries(execution_metadata?.outputs ?? {}) as [string, Output][];
  return table(outputs.map(([name, output]) => [`  ${clean(name)}`, `= ${valueOf(output)}`]));
}

function valueOf({ value, sensitive }: Output): string {
  if (sensitive) return styled("dim", "(sensitive)");
  return clean(typeof value === "string" ? value : JSON.stringify(value ?? null));
}
