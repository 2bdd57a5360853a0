/** Layout of users' states can take minutes, so it has a thread, a heap and a time limit. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { second } from "../../../common/units.ts";
import type { GraphView } from "../../domain/graph-view.ts";
import { OneAtATime } from "../one-at-a-time.ts";
import type { Drawn, Graph, GraphSources } from "./draw-here.ts";

/** Why there is no graph: encrypted, or reading it takes more time or memory than there is. */
export type Undrawn = "encrypted" | "too complex";

const threadHeapMebibytes = 128;
/** On a shared core 500 nodes took 1 to 4 s, and 12 s where 1,480 edges crossed two ranks. */
const timeLimits = { reading: 15 * second, layout: 15 * second };
/** Graphs of one user that are drawn or wait. */
export const drawingsPerUser = 2;

/** So that graphs never take more than one core. */
const drawing = new OneAtATime(
  drawingsPerUser,
  `The server already draws ${drawingsPerUser} graphs for you. Try again when they are shown.`,
);

/** Draws a graph after those that were asked for before. Throws 429 if the user has too many. */
export const drawApart = (
  user: string,
  sources: () => Promise<GraphSources>,
  limits = timeLimits,
): Promise<Graph | Undrawn> => drawing.run(user, async () => drawInThread(await sources(), limits));

async function drawInThread(
  sources: GraphSources,
  limits: typeof timeLimits,
): Promise<Graph | Undrawn> {
  const thread = new Worker(
    new URL(`./graph-thread${extname(import.meta.filename)}`, import.meta.url),
    {
      workerData: sources,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMebibytes, maxYoungGenerationSizeMb: 16 },
    },
  );
  const stop = (): void => void thread.terminate();
  let timer = setTimeout(stop, limits.reading);
  let view: GraphView | undefined;
  try {
    return await new Promise<Graph | Undrawn>((resolve) => {
      // Without a layout there is still a list.
      const fail = (): void => resolve(view ? { view, drawing: undefined } : "too complex");
      thread.on("message", (part: Drawn) => {
        if ("drawing" in part) return view && resolve({ view, drawing: part.drawing });
        if (part.view === "encrypted") return resolve("encrypted");
        view = part.view;
        clearTimeout(timer);
        timer = setTimeout(stop, limits.layout);
      });
      thread.once("error", fail);
      thread.once("exit", fail);
    });
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}
