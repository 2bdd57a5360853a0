/**
 * Streams growing logs to many readers. A reader first catches up by itself, at its own pace. Then
 * it is live: the log is read once for all live readers of a job, each event is serialised once,
 * and the same bytes are written to each.
 *
 * A wakeup is only a hint to read the store. There is no gap, because a reader becomes live only
 * when it has read at least as far as the live ones. There is no duplicate, because each reader
 * knows its last id and gets only later ones.
 */
import { ticking } from "../../../common/every.ts";
import type { UserCaller } from "../callers.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import { findLastId } from "../../store/logs/archives.ts";
import type { Context } from "../context.ts";
import { viewProgress } from "./progress.ts";
import { checkArchived } from "./archives.ts";
import { JobFeed, type StreamReader } from "./feed.ts";

export interface LogStreams {
  /** `begin` is called when the request can no longer be refused. */
  open(caller: UserCaller, job: string, after: number, begin: () => StreamReader): Promise<void>;
  close(): void;
}

/** How often a comment is sent, which keeps proxies from closing an idle stream. */
const commentMilliseconds = 15_000;
/** Milliseconds: a wakeup may be lost, and a waiting reason changes without one. */
const lookMilliseconds = 2000;

export function logStreams(context: Context): LogStreams {
  const { store, wakeups, draining, streamsPerPerson } = context;
  const feeds = new Map<string, JobFeed>();
  const open = new Map<string, number>();
  const unlisten = wakeups.listen("job", (id) => feeds.get(id)?.look());
  const each = (period: number, what: (feed: JobFeed) => void) =>
    ticking(period, () => feeds.forEach(what));
  const ends = [
    each(lookMilliseconds, (feed) => feed.look()),
    each(commentMilliseconds, (feed) => feed.comment()),
    unlisten,
  ];
  const endAll = () => {
    for (const feed of feeds.values()) feed.endAll();
  };
  draining.addEventListener("abort", endAll, { once: true });

  return {
    open: async ({ user_id }, id, after, begin) => {
      const job = await store.read.first(findJob, { id });
      if (!job) throw notFound("job");
      const progress = JSON.stringify(await viewProgress(context, job));
      // Ids only grow, so no reader can have seen a later one.
      const last = await findLastId(store.read, id);
      // The rest of a pruned log is not shown.
      const from = job.log_pruned_at === null ? Math.min(after, last) : last;
      await checkArchived(context, id, from);
      if (draining.aborted) throw new RefusalError("unavailable", "the server is stopping");
      const count = open.get(user_id) ?? 0;
      if (count >= streamsPerPerson)
        throw new RefusalError(
          "too_many_requests",
          `You have ${count} event streams open, which is the limit. Close some of them, then try again.`,
          {},
          { "retry-after": "5" },
        );
      const feed = feeds.get(id) ?? new JobFeed(context, id, () => feeds.delete(id));
      feeds.set(id, feed);
      const reader = begin();
      open.set(user_id, count + 1);
      const leave = () => {
        const left = (open.get(user_id) ?? 1) - 1;
        if (left > 0) open.set(user_id, left);
        else open.delete(user_id);
      };
      if (reader.destroyed) leave();
      else reader.once("close", leave);
      feed.add(reader, from, progress);
    },
    close: () => {
      endAll();
      for (const end of ends) end();
      draining.removeEventListener("abort", endAll);
    },
  };
}
