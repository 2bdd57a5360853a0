/** Prometheus' names and units, no names of people or things. Counted at each scrape. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import { driftStatuses } from "../../../protocol/drift.ts";
import { workerStatuses } from "../../../protocol/workers.ts";
import { workerStatus } from "../../domain/worker.ts";
import { findFirstDue } from "../../store/schedules/rounds.ts";
import { scheduleOutcomes } from "../../wakeups/wakeups.ts";
import { countDrift } from "../../store/configurations/drift.ts";
import {
  countDeliveries,
  countHeld,
  countQueued,
  countWorkers,
  databaseBytes,
} from "../../store/operations/metrics.ts";
import type { Claims } from "../claims/claims.ts";
import type { Context } from "../context.ts";
import { findSteps } from "../logs/progress.ts";
import { jobFactsOf } from "./job-facts.ts";
import { storageParts, type Readiness } from "./readiness.ts";

/** The names that our agent gives to its runs of terraform; a runner may send any other. */
const knownPhases = new Set([
  "version",
  "init",
  "validate",
  "plan",
  "apply",
  "destroy",
  "show",
  "output",
]);
const phaseOf = (step: string): string => (knownPhases.has(step) ? step : "other");

/** The store may be closed meanwhile; an observation less harms nothing. */
const ignore = (): void => undefined;

/** Milliseconds. With the defaults, 10 and 100, collectors took 1 % of an idle server's core. */
const calmly = { eventLoopMonitoringPrecision: 500, eventLoopUtilizationTimeout: 5000 };

/** The store is read at most this often, because anyone may call. */
const lookMilliseconds = 5000;

export interface Metrics {
  /** One answered request. `route` is the pattern, never the address. */
  answered(request: { method: string; route: string; status: number; seconds: number }): void;
  logged(bytes: number): void;
  scrape(): Promise<{ text: string; type: string }>;
}

/** Metrics of one server, in a registry of their own: two servers of one process do not mix. */
export function openMetrics(
  context: Context,
  claims: Pick<Claims, "waiting">,
  readiness: Pick<Readiness, "problems">,
): Metrics {
  const { store, wakeups, now } = context;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, ...calmly });
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
  const drift = gauge(
    "windlass_configurations_drift",
    "Configurations that were checked for drift, by the status of the last check.",
    ["status"],
  );
  const parked = gauge("windlass_claims_parked", "Claims that wait at this server for a job.");
  const stored = gauge("windlass_database_bytes", "Size of the database; blobs are beside it.");
  const wal = gauge(
    "windlass_database_wal_bytes",
    "Size of the database's write-ahead log. It stays below 8 MiB, except while a backup is made.",
  );
  const working = gauge(
    "windlass_storage_working",
    "1 if this server can store rows and files, 0 if not, by part: database or files.",
    ["part"],
  );
  const ended = new Counter({
    name: "windlass_jobs_ended_total",
    help: "Jobs that ended at this server, by type and by the status they ended with first.",
    labelNames: ["type", "status"],
    registers,
  });
  const { wait, time, phases } = jobHistograms(registers);
  const jobFacts = jobFactsOf(store);
  wakeups.listen("job_event", ({ what, id, job_type, status }) => {
    if (what === "claimed") void observeWait(id).catch(ignore);
    if (what !== "ended") return;
    const labels = { type: job_type.toLowerCase(), status: status.toLowerCase() };
    ended.inc(labels);
    void observeTime(id, labels).catch(ignore);
  });

  async function observeWait(id: string): Promise<void> {
    const job = await jobFacts(id);
    if (job?.claimed_at) wait.observe(Math.max(0, job.claimed_at - job.created_at) / 1000);
  }

  async function observeTime(id: string, labels: { type: string; status: string }): Promise<void> {
    const job = await jobFacts(id);
    if (job?.started_at && job.ended_at)
      time.observe(labels, Math.max(0, job.ended_at - job.started_at) / 1000);
    for (const { name, took_ms } of await findSteps(context, id))
      if (took_ms !== null)
        phases.observe({ phase: phaseOf(name), status: labels.status }, took_ms / 1000);
  }

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

  const identityTokens = new Counter({
    name: "windlass_identity_tokens_total",
    help: "Tokens with which jobs sign in to their cloud that this server made, by phase.",
    labelNames: ["phase"],
    registers,
  });
  for (const phase of ["plan", "apply"]) identityTokens.inc({ phase }, 0);
  wakeups.listen("identity_token", (phase) => identityTokens.inc({ phase }));
  const deliveries = new Counter({
    name: "windlass_notification_attempts_total",
    help: "Attempts of this server to deliver an event, by outcome: delivered, failed or given_up.",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of ["delivered", "failed", "given_up"]) deliveries.inc({ outcome }, 0);
  wakeups.listen("delivery", (outcome) => deliveries.inc({ outcome }));
  const undelivered = gauge(
    "windlass_notifications_waiting",
    "Deliveries that wait for their first or their next attempt.",
  );
  const oldestEvent = gauge(
    "windlass_notifications_oldest_age_seconds",
    "Age of the oldest event with a delivery that waits; 0 when none waits.",
  );

  const runs = new Counter({
    name: "windlass_schedule_runs_total",
    help: "Runs of schedules at this server, by outcome: queued, or why no job was.",
    labelNames: ["outcome"],
    registers,
  });
  for (const outcome of scheduleOutcomes) runs.inc({ outcome }, 0);
  wakeups.listen("schedule_run", (outcome) => runs.inc({ outcome }));
  const behind = gauge(
    "windlass_schedules_behind_seconds",
    "How late the schedule, or the run of one, is that should have come first; 0 when none is.",
  );

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
    const open = await store.read.first(countDeliveries, {});
    undelivered.set(open?.count ?? 0);
    oldestEvent.set(Math.max(0, now() - (open?.oldest ?? now())) / 1000);
    held.reset();
    for (const { status, count } of await store.read.all(countHeld, {}))
      held.set({ status: status.toLowerCase() }, count);
    // A status without workers is 0, so that an alert on it can fire.
    for (const status of workerStatuses) workers.set({ status: status.toLowerCase() }, 0);
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
    await lookForDrift();
    const due = await store.read.first(findFirstDue, {});
    const first = Math.min(due?.schedule ?? Infinity, due?.run ?? Infinity, now());
    behind.set((now() - first) / 1000);
  }

  async function lookForDrift(): Promise<void> {
    // As with workers, so that an alert can fire.
    for (const status of driftStatuses) if (status !== "unchecked") drift.set({ status }, 0);
    for (const { drift_status: status, count } of await store.read.all(countDrift, {}))
      drift.set({ status }, count);
  }

  return {
    answered: ({ method, route, status, seconds }) =>
      duration.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, seconds),
    logged: (bytes) => logBytes.inc(bytes),
    scrape: async () => {
      parked.set(claims.waiting());
      const problems = await readiness.problems();
      for (const part of storageParts) working.set({ part }, problems.has(part) ? 0 : 1);
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

/** Seconds of what may take a moment or hours. */
const longBuckets = [1, 5, 15, 60, 300, 900, 3600, 4 * 3600];

/** How long jobs wait, run, and spend in each command of terraform. */
function jobHistograms(registers: Registry[]) {
  const histogram = <T extends string>(name: string, help: string, labelNames: T[]) =>
    new Histogram<T>({ name, help, labelNames, buckets: longBuckets, registers });
  return {
    wait: histogram(
      "windlass_job_queue_wait_seconds",
      "From the creation of a job to a claim at this server.",
      [],
    ),
    time: histogram(
      "windlass_job_duration_seconds",
      "From the start of a job to its end at this server, by type and by the status it ended with first.",
      ["type", "status"],
    ),
    phases: histogram(
      "windlass_terraform_phase_duration_seconds",
      "Duration of terraform's commands in jobs that ended at this server, by command and by the status of the job.",
      ["phase", "status"],
    ),
  };
}
