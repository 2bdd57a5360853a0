/** What the log and the metrics report of jobs, read for all events of a moment by one query. */
import type { Store } from "../../store/db.ts";
import { findJobFacts, type JobFacts } from "../../store/operations/events.ts";

/** So many jobs at most are asked for at once. */
const most = 500;

type Find = (id: string) => Promise<JobFacts | undefined>;

const finders = new WeakMap<Store, Find>();

/**
 * Returns how the facts of a job of this store are found. Those that are asked for while others are
 * read come next, together, and are never older than the question.
 */
export function jobFactsOf(store: Store): Find {
  let find = finders.get(store);
  if (find === undefined) {
    find = findTogether(store);
    finders.set(store, find);
  }
  return find;
}

function findTogether(store: Store): Find {
  const waiting = new Map<string, PromiseWithResolvers<JobFacts | undefined>>();
  let isReading = false;

  const readNext = async (): Promise<void> => {
    const asked = [...waiting].slice(0, most);
    for (const [id] of asked) waiting.delete(id);
    try {
      const ids = JSON.stringify(asked.map(([id]) => id));
      const found = await store.read.all(findJobFacts, { ids });
      const byId = new Map(found.map((facts) => [facts.id, facts]));
      for (const [id, { resolve }] of asked) resolve(byId.get(id));
    } catch (error) {
      for (const [, { reject }] of asked) reject(error);
    }
  };
  const readAll = async (): Promise<void> => {
    isReading = true;
    // What else this turn of the event loop tells of.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.size > 0) await readNext();
    isReading = false;
  };

  return (id) => {
    const asked = waiting.get(id) ?? Promise.withResolvers<JobFacts | undefined>();
    waiting.set(id, asked);
    if (!isReading) void readAll();
    return asked.promise;
  };
}
