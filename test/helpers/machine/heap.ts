import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Returns the bytes in use on the heap after a full collection, so that no result depends on when
 * the engine collects.
 */
export function heapInUse(): number {
  collect ??= exposeCollector();
  collect();
  return process.memoryUsage().heapUsed;
}

let collect: (() => void) | undefined;

function exposeCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
