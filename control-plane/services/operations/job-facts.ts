/** What the log and the metrics need of the job of an event, read once for both. */
import type { Store } from "../../store/db.ts";
import { findJobFacts, type JobFacts } from "../../store/operations/events.ts";
import type { JobEvent } from "../../wakeups/wakeups.ts";

const read = new WeakMap<JobEvent, Promise<JobFacts | undefined>>();

/** Returns undefined if the job is not there any more. */
export function readJobFacts(
  store: Pick<Store, "read">,
  event: JobEvent,
): Promise<JobFacts | undefined> {
  let facts = read.get(event);
  if (facts === undefined) {
    facts = store.read.first(findJobFacts, { id: event.id });
    read.set(event, facts);
  }
  return facts;
}
