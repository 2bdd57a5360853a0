/** Reads the outputs that the report of a job's end has. */
import { readFile, stat } from "node:fs/promises";
import { parseExactly } from "../../common/exact-json.ts";
import { metadataFrom, type Output, type Outputs } from "../../common/outputs.ts";
import { mebibyte } from "../../common/units.ts";
import { StepFailedError } from "./context.ts";

const fileLimit = 32 * mebibyte;

/**
 * Reads the output of `output -json`. An output in which `hides` finds a secret is sensitive, also
 * if the configuration does not say so. Throws StepFailedError if the outputs are too large.
 */
export async function metadataOf(
  file: string,
  hides: (value: unknown) => boolean,
): Promise<Outputs> {
  const { size } = await stat(file);
  if (size > fileLimit)
    throw new StepFailedError(`the outputs have ${size} bytes, more than ${fileLimit}`);
  return metadataFrom(parseExactly(await readFile(file, "utf8")) as Record<string, Output>, hides);
}
