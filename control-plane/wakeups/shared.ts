/** Through the database. Own listeners are called at once, as in memory. */
import { memoryWakeups } from "./memory.ts";
import type { Wakeups, WakeupTopics } from "./wakeups.ts";

/** Sends texts to all processes that listen, this one included. */
export interface Channel {
  /** Each text has less than 8,000 bytes. */
  send(payloads: readonly string[]): Promise<void>;
  follow(events: { received(payload: string): void; missed(): void }): void;
}

/** What happens at one server is logged and counted there alone. */
const sharedTopics: ReadonlySet<keyof WakeupTopics> = new Set(["queue", "job", "worker", "login"]);

/** PostgreSQL's limit of a payload. */
const payloadBytes = 7999;

/** `id` differs between processes. */
export function sharedWakeups(channel: Channel, id: string): Wakeups {
  const local = memoryWakeups();
  const missedListeners = new Set<() => void>();
  /** What is to be sent, each text once. */
  let waiting = new Set<string>();
  let isSending = false;

  /** Wakeups during a send go with the next one: a log wakes its readers often. */
  const send = async (): Promise<void> => {
    while (waiting.size > 0) {
      const payloads = [...waiting];
      waiting = new Set();
      // A lost wakeup only costs time: waiters also look by themselves.
      await channel.send(payloads).catch(() => undefined);
    }
    isSending = false;
  };
  let misses = 0;
  const missed = () => {
    misses += 1;
    for (const listener of missedListeners) listener();
  };

  channel.follow({
    received: (payload) => {
      const message = parse(payload);
      if (message === undefined || message.from === id) return;
      if (message.topic === undefined) missed();
      else local.notify(message.topic, message.about as never);
    },
    missed,
  });

  return {
    notify: (topic, about) => {
      local.notify(topic, about);
      if (!sharedTopics.has(topic)) return;
      const text = JSON.stringify({ from: id, topic, about });
      // Without a topic: the others look at everything.
      waiting.add(Buffer.byteLength(text) <= payloadBytes ? text : JSON.stringify({ from: id }));
      if (isSending) return;
      isSending = true;
      setImmediate(() => void send());
    },
    listen: local.listen,
    version: (topic) => local.version(topic) + misses,
    onMissed: (listener) => {
      missedListeners.add(listener);
      return () => missedListeners.delete(listener);
    },
  };
}

interface Message {
  readonly from: string;
  readonly topic?: keyof WakeupTopics;
  readonly about?: unknown;
}

/** Anyone who may connect to the database may send; another text is ignored. */
function parse(payload: string): Message | undefined {
  try {
    const message = JSON.parse(payload) as Message;
    const { from, topic } = message;
    return typeof from === "string" && (topic === undefined || sharedTopics.has(topic))
      ? message
      : undefined;
  } catch {
    return undefined;
  }
}
