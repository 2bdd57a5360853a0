/**
 * Tables with the index by which they are read. SQLite refuses a statement that cannot use the
 * index, so neither a new index nor statistics displace it: a heartbeat took 220 ms at 889,000
 * finished jobs of its worker when another index was chosen.
 */
import { sql } from "kysely";
import type { Row, Tables } from "./tables.ts";

const by =
  <const T extends keyof Tables>(table: T) =>
  (index: string) =>
    sql<Row<T>>`${sql.table(table)}`.as<T>(sql`${sql.table(table)} indexed by ${sql.ref(index)}`);

export const accessTokensBy = by("access_tokens");
export const auditEntriesBy = by("audit_entries");
export const cloudIdentitiesBy = by("cloud_identities");
export const connectionEventsBy = by("connection_events");
export const connectionsBy = by("connections");
export const deliveriesBy = by("deliveries");
export const eventsBy = by("events");
export const followsBy = by("follows");
export const jobChangesBy = by("job_changes");
export const jobsBy = by("jobs");
export const loginsBy = by("logins");
export const notificationRulesBy = by("notification_rules");
export const pullRequestsBy = by("pull_requests");
export const queueHeadsBy = by("queue_heads");
export const registrationTokensBy = by("registration_tokens");
export const scheduleRunsBy = by("schedule_runs");
export const schedulesBy = by("schedules");
export const specsBy = by("specs");
export const stateVersionsBy = by("state_versions");
export const variableSetsBy = by("variable_sets");
export const workersBy = by("workers");
export const zonesBy = by("zones");

/** Jobs that a worker holds, by worker. */
export const heldByWorker = jobsBy("jobs_unreleased_worker");
