/** The outputs in a job's `execution_metadata`, whose form depends on the runner. */

/** One output of a job. A sensitive one has no value. */
export interface JobOutput {
  readonly value?: unknown;
  readonly sensitive?: unknown;
  /** The size of a value that is too large to be kept. */
  readonly omitted_bytes?: unknown;
}

/** Reads `{type, value, sensitive}`, or the bare value that a runner sends which knows only the interface. */
export function outputOf(reported: unknown): JobOutput {
  const isTyped =
    typeof reported === "object" &&
    reported !== null &&
    ("value" in reported || "sensitive" in reported || "omitted_bytes" in reported);
  return isTyped ? reported : { value: reported };
}

/** Returns `12 more outputs: too many to be kept here`. */
export const omittedText = (count: number): string =>
  `${count.toLocaleString("en-US")} more ${count === 1 ? "output" : "outputs"}: too many to be kept here`;
