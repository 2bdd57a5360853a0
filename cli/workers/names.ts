/** The names of workers and of their jobs, where only ids are known. */
import { ProblemError } from "../../protocol/transport.ts";
import { nameOf } from "../jobs/words.ts";
import type { Run } from "../run.ts";

/** Returns the name of a worker, or its id if it was removed. */
export const workerName = ({ api }: Run, id: string): Promise<string> =>
  nameOrId(id, async () => (await api.call("getWorker", { params: { id } })).name);

/** How many jobs are read; the others are listed by their ids. */
const readAtMost = 20;

/** Returns a line for each job: what it does, and its id. */
export async function jobNames({ api }: Run, ids: readonly string[]): Promise<string[]> {
  const lines = ids.slice(0, readAtMost).map((id) =>
    nameOrId(id, async () => {
      const job = await api.call("getJob", { params: { id } });
      return `${nameOf(job)} (${id})`;
    }),
  );
  return [...(await Promise.all(lines)), ...ids.slice(readAtMost)];
}

async function nameOrId(id: string, read: () => Promise<string>): Promise<string> {
  try {
    return await read();
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof ProblemError && cause.status === 404) return id;
    throw error;
  }
}
