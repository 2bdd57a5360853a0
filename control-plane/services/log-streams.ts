/**
 * Logs as they grow, for many readers. A reader first catches up by itself, at its own pace; then it is live: the log is read once for
 * all live readers of a job, each event is serialised once, and the same bytes are written to each.
 *
 * A wakeup is only a hint to look; the store is the truth. No gap: a reader becomes live only when it has read at least as far as the
 * live ones. No double: each reader knows its last id, and is given later ones only.
 */
import type { UserCaller } from "../auth/callers.ts";
import { notFound, Refusal } from "../problem.ts";
import { findJob } from "../store/jobs.ts";
import { findLastChunk } from "../store/logs.ts";
import type { Context } from "./context.ts";
import { viewProgress } from "./job-views.ts";
import { JobFeed } from "./job-feed.ts";

/** The connection of a reader, as far as streams need it: a Node response. */
export interface StreamReader {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableLength: number;
  write(bytes: Buffer | string): boolean;
  end(): unknown;
  destroy(): unknown;
  once(event: "close" | "drain", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
}

export interface LogStreams {
  /** Streams the log after a chunk's id. `begin` is called when nothing can be refused any more. */
  open(caller: UserCaller, job: string, after: number, begin: () => StreamReader): Promise<void>;
  close(): void;
}

/** A comment this often keeps proxies from closing an idle stream (decisions.md). */
const commentMilliseconds = 15_000;
/** How often a feed looks by itself: for a lost wakeup, a waiting reason that changed by something else, a login whose time is over. */
const lookMilliseconds = 2000;

/** The streams of one server; they end when it drains. */
export function logStreams(context: Context): LogStreams {
  const { store, wakeups, draining } = context;
  const feeds = new Map<string, JobFeed>();
  const unlisten = wakeups.listen("job", (id) => feeds.get(id)?.look());
  const unlistenLogins = wakeups.listen("login", () => {
    for (const feed of feeds.values()) cutStrangers(feed);
  });
  const every = (milliseconds: number, what: (feed: JobFeed) => void) =>
    setInterval(() => {
      for (const feed of feeds.values()) what(feed);
    }, milliseconds).unref();
  const timers = [
    every(lookMilliseconds, (feed) => feed.look()),
    every(lookMilliseconds, cutStrangers),
    every(commentMilliseconds, (feed) => feed.comment()),
  ];
  const endAll = () => {
    for (const feed of feeds.values()) feed.endAll();
  };
  draining.addEventListener("abort", endAll, { once: true });

  return {
    open: async ({ login_id }, id, after, begin) => {
      const job = await store.read.first(findJob, { id });
      if (!job) throw notFound("job");
      const progress = JSON.stringify(await viewProgress(store.read, job));
      // Ids only grow: nobody can have seen a later one than there is.
      const last = (await store.read.first(findLastChunk, { job: id }))?.id ?? 0;
      if (draining.aborted) throw new Refusal("unavailable", "the server is stopping");
      const feed = feeds.get(id) ?? new JobFeed(context, id, () => feeds.delete(id));
      feeds.set(id, feed);
      // What may be left of a pruned log is no log.
      const from = job.log_pruned_at === null ? Math.min(after, last) : last;
      feed.add(begin(), login_id, from, progress);
    },
    close: () => {
      endAll();
      unlisten();
      unlistenLogins();
      for (const timer of timers) clearInterval(timer);
      draining.removeEventListener("abort", endAll);
    },
  };
}

/** Where the store cannot be read, the readers come back when it can. */
const cutStrangers = (feed: JobFeed): void => void feed.cutStrangers().catch(() => feed.endAll());
