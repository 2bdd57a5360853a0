/** Gives memory back that the agent's start or a job has used. */

/** In milliseconds. The next job often follows the last one closely. */
const idleAfter = 5000;

let timer: NodeJS.Timeout | undefined;

/**
 * Collects garbage once the agent has been idle for a while. V8 itself collects it only when it
 * needs more memory, which an idle agent seldom does. `bin/windlass` starts Node with `--expose-gc`.
 */
export function freeWhenIdle(isIdle: () => boolean): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (isIdle()) globalThis.gc?.();
  }, idleAfter).unref();
}
