/**
 * What Prometheus reads: its names and units, no names of people or things. Counted where the store
 * has a small index, at each scrape.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import { workerStatus } from "../../domain/worker.ts";
import {
  countHeld,
  countQueued,
  countWorkers,
  databaseBytes,
} from "../../store/operations/metrics.ts";
import type { Claims } from "../claims/claims.ts";
import type { Context } from "../context.ts";

/** The store is read at most this often, because anyone may call. */
const lookMilliseconds = 5000;

export interface Metrics {
  /** One answered request. `route` is the pattern, never the address. */
  answered(request: { method: string; route: string; status: number; seconds: number }): void;
  /** Bytes of one accepted log post. */
  logged(bytes: number): void;
  /** The text of a scrape and its content type. */
  scrape(): Promise<{ text: string; type: string }>;
}

/** Metrics of one server, in a registry of their own: two servers of one process do not mix. */
export function openMetrics(
  { store, wakeups, now }: Context,
  claims: Pick<Claims, "waiting">,
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: "windlass_http_request_duration_seconds",
    help: "Time to answer a request; parked claims and heartbeats and log streams count whole.",
    labelNames: ["method", "route", "status"],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 30],
    registers,
  });
  const logBytes = new Counter({
    name: "windlass_log_post_bytes_total",
    help: "Bytes of the log posts that were accepted, as they came over the wire.",
    registers,
  });
  const queued = gauge("windlass_jobs_queued", "Jobs that wait for a worker.");
  const oldest = gauge(
    "windlass_jobs_queued_oldest_age_seconds",
    "Age of the job that has waited longest; 0 when none waits.",
  );
  const held = gauge("windlass_jobs_held", "Jobs that a worker holds, by status.", ["status"]);
  const workers = gauge("windlass_workers", "Workers, by status.", ["status"]);
  const parked = gauge("windlass_claims_parked", "Claims that wait at this server for a job.");
  const stored = gauge("windlass_database_bytes", "Size of the database; blobs are beside it.");
  const wal = gauge(
    "windlass_database_wal_bytes",
    "Size of the database's write-ahead log. It stays below 8 MiB, except while a backup is made.",
  );
  const ended = new Counter({
    name: "windlass_jobs_ended_total",
    help: "Jobs that ended at this server, by type and by the status they ended with first.",
    labelNames: ["type", "status"],
    registers,
  });
  wakeups.listen("ended", ({ job_type, status }) =>
    ended.inc({ type: job_type.toLowerCase(), status: status.toLowerCase() }),
  );

  const refused = new Counter({
    name: "windlass_quota_refusals_total",
    help: "Requests that a quota refused at this server, by quota.",
    labelNames: ["quota"],
    registers,
  });
  wakeups.listen("quota", (quota) => refused.inc({ quota }));
  const droppedBytes = new Counter({
    name: "windlass_log_dropped_bytes_total",
    help: "Bytes of logs that this server dropped, because the log of their job is too long.",
    registers,
  });
  wakeups.listen("dropped", (bytes) => droppedBytes.inc(bytes));

  function gauge(name: string, help: string, labelNames: string[] = []) {
    return new Gauge({ name, help, labelNames, registers });
  }

  let looked: Promise<void> | undefined;
  let lookedAt = 0;

  async function look(): Promise<void> {
    const waiting = await store.read.first(countQueued, {});
    stored.set(await databaseBytes(store.read));
    wal.set(store.walBytes());
    queued.set(waiting?.count ?? 0);
    oldest.set(Math.max(0, now() - (waiting?.oldest ?? now())) / 1000);
    held.reset();
    for (const { status, count } of await store.read.all(countHeld, {}))
      held.set({ status: status.toLowerCase() }, count);
    workers.reset();
    for (const { is_offline, is_draining, is_new, count } of await store.read.all(countWorkers, {}))
      workers.inc(
        {
          status: workerStatus({
            offline_at: is_offline ? 1 : null,
            draining_at: is_draining ? 1 : null,
            last_heartbeat_at: is_new ? null : 1,
          }).toLowerCase(),
        },
        count,
      );
  }

  return {
    answered: ({ method, route, status, seconds }) =>
      duration.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, seconds),
    logged: (bytes) => logBytes.inc(bytes),
    scrape: async () => {
      parked.set(claims.waiting());
      // Monotonic: a clock that is set back does not stop the counting.
      const time = performance.now();
      if (looked === undefined || time - lookedAt >= lookMilliseconds) {
        lookedAt = time;
        looked = look();
      }
      await looked.catch((error: unknown) => {
        looked = undefined;
        throw error;
      });
      return { text: await registry.metrics(), type: registry.contentType };
    },
  };
}
