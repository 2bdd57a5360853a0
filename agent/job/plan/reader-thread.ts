/** The thread of `read-apart.ts`: reads one file, posts one result and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { readHere, type Reading } from "./read-apart.ts";

// eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(await readHere(workerData as Reading));
