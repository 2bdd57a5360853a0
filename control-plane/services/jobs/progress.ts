/** How far a job has come, as its log tells it. */
import { stripVTControlCharacters } from "node:util";
import { findLastChunk, findSystemChunks, readChunk } from "../../store/logs/logs.ts";
import type { Context } from "../context.ts";
import { time } from "./views.ts";

/** A command of terraform's that the runner said it starts. */
export interface JobStep {
  readonly name: string;
  readonly started_at: string;
}

/** The runner's own lines of a job; it writes a few dozen. */
const systemChunks = 200;
/** So much of a line is shown. */
const lineLength = 200;

/** The steps of a job so far, in order. A runner that knows only the interface says none. */
export async function findSteps({ store }: Context, job: string): Promise<JobStep[]> {
  const chunks = await store.read.all(findSystemChunks, { job, limit: systemChunks });
  return chunks.flatMap(({ log_chunk, created_at }) =>
    linesOf(log_chunk).flatMap((line) => {
      const [, name] = stepLine.exec(line) ?? [];
      return name === undefined ? [] : [{ name, started_at: time(created_at) }];
    }),
  );
}

/** The last line of a job's log; null while there is none. */
export async function findLastLine({ store }: Context, job: string): Promise<string | null> {
  const last = await store.read.first(findLastChunk, { job });
  const chunk = last && (await store.read.first(readChunk, { id: last.id }));
  return chunk ? (linesOf(chunk.log_chunk).at(-1)?.slice(0, lineLength) ?? null) : null;
}

/** `terraform 1.14.1: plan` */
const stepLine = /^\w+ \d\S*: (\w+)$/;

const linesOf = (chunk: string): string[] =>
  stripVTControlCharacters(chunk)
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
