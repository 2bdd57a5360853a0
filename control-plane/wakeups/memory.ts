import { AsyncLocalStorage } from "node:async_hooks";
import type { Wakeups, WakeupTopics } from "./wakeups.ts";

/** Listeners are called in a later turn of the event loop, never inside the caller. */
export function memoryWakeups(): Wakeups {
  const listeners = new Map<keyof WakeupTopics, Set<(about: never) => void>>();
  const counts = new Map<keyof WakeupTopics, number>();
  return {
    notify: (topic, about) => {
      counts.set(topic, (counts.get(topic) ?? 0) + 1);
      const called = listeners.get(topic);
      if (called === undefined || called.size === 0) return;
      setImmediate(() => {
        for (const listener of called) listener(about as never);
      });
    },
    listen: (topic, listener) => {
      let called = listeners.get(topic);
      if (called === undefined) listeners.set(topic, (called = new Set()));
      // For the spaces of what listens (store/spaces.ts), not for those of what notifies.
      const bound = AsyncLocalStorage.bind(listener);
      called.add(bound);
      return () => called.delete(bound);
    },
    // In one process none is lost.
    onMissed: () => () => undefined,
    version: (topic) => counts.get(topic) ?? 0,
  };
}
