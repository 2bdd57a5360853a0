/** The errors at the end of a job's log. */
import { kibibyte } from "../../../common/units.ts";
import { terraformErrorsIn, type TerraformError } from "../../domain/terraform-errors.ts";
import { findLastChunks, readChunk } from "../../store/logs/logs.ts";
import type { Context } from "../context.ts";

/** How many chunks from the end are searched, and how much of what terraform wrote to stderr. */
const chunkLimit = 200;
const textLimit = 256 * kibibyte;

/** Returns them in order; the caller has checked access. For people: nothing is decided by them. */
export async function findErrors(
  { store: { read } }: Context,
  job: string,
): Promise<TerraformError[]> {
  const chunks = await read.all(findLastChunks, { job, limit: chunkLimit });
  let text = "";
  for (const { id, stream_type } of chunks) {
    if (stream_type !== "STDERR") continue;
    const chunk = await read.first(readChunk, { id });
    text = (chunk?.log_chunk ?? "") + text;
    if (text.length > textLimit) break;
  }
  return terraformErrorsIn(text);
}
