/** Gives memory back that the agent's start or a job has used. */

/** In milliseconds. The next job often follows the last one closely. */
const idleAfter = 5000;

let timer: NodeJS.Timeout | undefined;

/**
 * V8 itself collects only when it needs more memory, which an idle agent seldom does.
 * `bin/windlass` passes `--expose-gc`.
 */
export function freeWhenIdle(isIdle: () => boolean): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (isIdle()) globalThis.gc?.();
  }, idleAfter).unref();
}
