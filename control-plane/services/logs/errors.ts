import { kibibyte } from "../../../common/units.ts";
import type { StreamType } from "../../../protocol/jobs.ts";
import {
  terraformErrorsIn,
  type TerraformDiagnostic,
} from "../../../common/terraform-diagnostics.ts";
import { findLogArchive } from "../../store/logs/archives.ts";
import { findLastChunks, readChunk } from "../../store/logs/logs.ts";
import type { Context } from "../context.ts";
import { archivedFromEnd } from "./archives.ts";

/** How many chunks from the end are searched, and how much of what terraform wrote to stderr. */
const chunkLimit = 200;
const textLimit = 256 * kibibyte;

/** Returns them in order; the caller has checked access. For people: nothing is decided by them. */
export async function findErrors(context: Context, job: string): Promise<TerraformDiagnostic[]> {
  let text = "";
  let count = 0;
  for await (const { stream_type, log_chunk } of chunksFromEnd(context, job)) {
    if (stream_type === "STDERR") text = log_chunk + text;
    count += 1;
    if (count === chunkLimit || text.length > textLimit) break;
  }
  return terraformErrorsIn(text);
}

/** Yields the chunks of a log, newest first; the text only of what terraform wrote to stderr. */
async function* chunksFromEnd(
  context: Context,
  job: string,
): AsyncGenerator<{ stream_type: StreamType; log_chunk: string }> {
  const { read } = context.store;
  const stored = await read.all(findLastChunks, { job, limit: chunkLimit });
  const archive = await read.first(findLogArchive, { job });
  for (const { id, stream_type } of stored) {
    if (archive && id <= archive.last_id) break;
    const chunk = stream_type === "STDERR" ? await read.first(readChunk, { id }) : undefined;
    yield { stream_type, log_chunk: chunk?.log_chunk ?? "" };
  }
  if (archive) yield* archivedFromEnd(context, archive);
}
