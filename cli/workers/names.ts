/** The names of workers and of their jobs, where only ids are known. */
import { ifReadable } from "../api/failures.ts";
import { nameOf } from "../jobs/words.ts";
import type { Run } from "../run.ts";

/** Returns the name of a worker, or its id if it was removed or the caller may not read it. */
export const workerName = async ({ api }: Run, id: string): Promise<string> =>
  (await ifReadable(api.call("getWorker", { params: { id } })))?.name ?? id;

/** How many jobs are read; the others are listed by their ids. */
const readAtMost = 20;

/** Returns a line for each job: what it does, and its id. */
export async function jobNames({ api }: Run, ids: readonly string[]): Promise<string[]> {
  const lines = ids.slice(0, readAtMost).map(async (id) => {
    const job = await ifReadable(api.call("getJob", { params: { id } }));
    return job ? `${nameOf(job)} (${id})` : id;
  });
  return [...(await Promise.all(lines)), ...ids.slice(readAtMost)];
}
