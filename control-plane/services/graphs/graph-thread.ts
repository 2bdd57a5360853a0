/** The thread of `draw-apart.ts`: draws one graph, posts each part and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { drawHere, type GraphSources } from "./draw-here.ts";

for (const part of drawHere(workerData as GraphSources))
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(part);
