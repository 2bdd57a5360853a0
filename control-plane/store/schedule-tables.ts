/** The tables of schedules, as types (tables.ts). */
import type { DriftColumns } from "../domain/drift.ts";

/** Epoch milliseconds. */
type Millis = number;

interface SchedulesTable {
  /** Of the end of a configuration (`expires_at`), the id of that configuration. */
  id: string;
  owner_id: string;
  name: string;
  kind: "drift" | "plan" | "deploy" | "destroy";
  /** One of both is null. */
  spec_id: string | null;
  zone_id: string | null;
  /** Null: it comes once, at `moment`, because the configuration expires. */
  cron: string | null;
  timezone: string;
  window_minutes: number;
  starts_at: Millis | null;
  ends_at: Millis | null;
  enabled: 0 | 1;
  /** The person who made it or changed it last: an author of its jobs, whom they may not approve. */
  author_id: string | null;
  /** The next time that it comes, before it is spread; null: it does not come any more. */
  moment: Millis | null;
  /** When a server has to look at it. */
  look_at: Millis | null;
  /** When its end is announced; null if it has been, or is not to be. */
  warn_at: Millis | null;
  /** The last configuration of the zone that has its run of this moment; null: none has. */
  spread_to: string | null;
  last_at: Millis | null;
  last_job_id: string | null;
  /** Why nothing was queued at `last_at`. */
  last_skipped: string | null;
  created_at: Millis;
  updated_at: Millis;
}

/** The last run of a schedule for each configuration, which is open until its last job is released. */
interface ScheduleRunsTable {
  schedule_id: string;
  spec_id: string;
  owner_id: string;
  /** The time for which it is; a run of the same or an earlier time never replaces it. */
  moment: Millis;
  /** When its next job is to be queued; null: nothing is to be queued. */
  due_at: Millis | null;
  /** The PLAN that is deployed when people have approved it. */
  plan_job_id: string | null;
  /** Its last job. */
  job_id: string | null;
  /** A person who asked for this run, else the schedule's. */
  author_id: string | null;
  /** That of its jobs. */
  queue_class: 0 | 2;
  /** Why no run has followed it, said once. */
  skipped: string | null;
}

export interface ScheduleTables {
  schedules: SchedulesTable;
  schedule_runs: ScheduleRunsTable;
}

/** Of a spec: what its checks for drift have found, and its end. */
export interface WatchedColumns extends DriftColumns {
  /** When a DESTROY is queued: by the row of `schedules` with the id of the spec. */
  expires_at: Millis | null;
}
