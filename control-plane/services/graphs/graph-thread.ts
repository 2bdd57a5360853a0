/** The thread of `draw-apart.ts`: draws one graph, posts it and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { drawHere, type GraphSources } from "./draw-here.ts";

// eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(drawHere(workerData as GraphSources));
