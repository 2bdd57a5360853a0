/**
 * Draws graphs in a thread with its own heap and a time limit. A configuration controls what is in
 * its state, and a layout can take minutes; meanwhile the server must serve other requests.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { RefusalError } from "../../domain/refusal.ts";
import { second } from "../../../common/units.ts";
import type { Graph, GraphSources } from "./draw-here.ts";

/** Why there is no graph: encrypted, or beyond the limits of time or memory. */
export type Undrawn = "encrypted" | "too complex";

const threadHeapMebibytes = 128;
/** On a shared core 500 nodes took 1 to 4 seconds, and 12 where 1,480 arrows crossed two ranks. */
const timeLimit = 15 * second;
/** Graphs of one user that are drawn or wait. */
export const drawingsPerUser = 2;

/** Draws one graph at a time, so that graphs never take more than one core. */
let last: Promise<unknown> = Promise.resolve();
const open = new Map<string, number>();

/** Draws a graph after those that were asked for before. Throws 429 if the user has too many. */
export async function drawApart(
  user: string,
  sources: () => Promise<GraphSources>,
  limit = timeLimit,
): Promise<Graph | Undrawn> {
  const mine = open.get(user) ?? 0;
  if (mine >= drawingsPerUser)
    throw new RefusalError(
      "too_many_requests",
      `The server already draws ${drawingsPerUser} graphs for you. Try again when they are shown.`,
      {},
      { "retry-after": "5" },
    );
  open.set(user, mine + 1);
  try {
    const drawn = last.then(async () => drawInThread(await sources(), limit));
    last = drawn.catch(() => undefined);
    return await drawn;
  } finally {
    const left = (open.get(user) ?? 1) - 1;
    if (left === 0) open.delete(user);
    else open.set(user, left);
  }
}

async function drawInThread(sources: GraphSources, limit: number): Promise<Graph | Undrawn> {
  const thread = new Worker(
    new URL(`./graph-thread${extname(import.meta.filename)}`, import.meta.url),
    {
      workerData: sources,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMebibytes, maxYoungGenerationSizeMb: 16 },
    },
  );
  const timer = setTimeout(() => void thread.terminate(), limit);
  try {
    return await new Promise<Graph | Undrawn>((resolve) => {
      const fail = (): void => resolve("too complex");
      thread.once("message", (graph: Graph | undefined) => resolve(graph ?? "encrypted"));
      thread.once("error", fail);
      thread.once("exit", fail);
    });
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}
