/** Fills a data directory with the history of one owner and one worker. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { v7 as uuid } from "uuid";
import { hashToken } from "../../control-plane/domain/tokens.ts";
import type { PlanSummary } from "../../protocol/plan-summary.ts";
import { setsLimit } from "../../protocol/variable-sets.ts";
import { openSqlite } from "../../control-plane/store/engines/sqlite.ts";
import { token } from "./fill.ts";

/** How many configurations share the history. */
const configurations = 100;
/** More than two pages show, so that pages of failed PLANs too are as long in a short history. */
const leastFailed = 250;
/**
 * One in so many of the newest jobs is of the first configuration, so that its page is
 * as long in a short history.
 */
const [newest, inNewest] = [1000, 15];
/** Other owners, each with a worker. */
const others = 200;
const cacheKibibytes = 1024 * 1024;
const variableSet = "00000000-0000-7000-8000-cccc00000001";

const planned: PlanSummary = {
  counts: { create: 1, update: 0, replace: 0, delete: 0, forget: 0, move: 0, import: 0 },
  changes: [],
  changes_omitted: 1,
  drift: [],
  drift_omitted: 0,
  outputs: [],
  outputs_omitted: 0,
  checks: [],
  applyable: true,
  complete: true,
};

export interface History {
  readonly owner: string;
  /** The worker that ran every finished job. */
  readonly worker: string;
  readonly zone: string;
  readonly emptyZone: string;
  readonly configuration: string;
  /** One of the sets of the zone, which every configuration has too. */
  readonly variableSet: string;
  /** A job that waits because its worker does not exist. */
  readonly waitingJob: string;
  readonly finishedJob: string;
}

export interface HistorySize {
  readonly finished: number;
  /** Jobs that can be claimed, of the same configurations. */
  readonly queued: number;
  /** Whether SQLite's planner gets statistics. A server never collects any itself. */
  readonly analyze?: boolean;
}

/**
 * Creates the store with an owner whose jobs one worker has run. Rows are inserted by SQL, because
 * a million through the product's own statements take minutes.
 */
export async function fillHistory(
  dataDirectory: string,
  { finished, queued, analyze = false }: HistorySize,
): Promise<History> {
  const file = join(dataDirectory, "windlass.db");
  await (await openSqlite(file)).close();
  const db = new Database(file);
  db.pragma("synchronous = OFF");
  db.pragma("foreign_keys = OFF");
  // Nothing else uses the file yet. A change that is written twice, and pages that do not fit into
  // memory, take most of the time.
  db.pragma("journal_mode = OFF");
  db.pragma(`cache_size = -${cacheKibibytes}`);
  const [owner, worker, zone, emptyZone, waitingJob] = [uuid(), uuid(), uuid(), uuid(), uuid()];
  const now = Date.now();
  const began = now - finished * 1000 - 86_400_000;
  const insert = insertInto(db);
  db.exec("begin");
  const indexes = db
    .prepare(
      `select name, sql from sqlite_schema as a where type = 'index' and sql is not null and not exists
        (select 1 from sqlite_schema as b where b.type = 'trigger' and instr(b.sql, a.name) > 0)`,
    )
    .all() as { name: string; sql: string }[];
  // Sorting all rows once is faster than finding the place of each. Triggers use the others.
  for (const { name } of indexes) db.exec(`drop index "${name}"`);
  insert("users", { id: `'${owner}'`, email: "'bench@example.com'", created_at: "1" });
  for (const [id, name] of [
    [zone, "zone"],
    [emptyZone, "empty"],
  ])
    insert("zones", {
      id: `'${id}'`,
      owner_id: `'${owner}'`,
      name: `'${name}'`,
      created_at: "1",
      updated_at: "1",
    });
  insert("workers", {
    id: `'${worker}'`,
    owner_id: `'${owner}'`,
    name: "'bench'",
    mode: "'self-hosted'",
    token_hash: `'${hashToken(token)}'`,
    labels: "'[]'",
    created_at: "1",
    last_heartbeat_at: String(now),
    metadata: "'{}'",
  });
  // Other rows, so that no table has a single row.
  insert("users", { id: other("aaaa"), email: "n || '@example.com'", created_at: "1" }, others);
  insert(
    "workers",
    {
      id: other("bbbb"),
      owner_id: other("aaaa"),
      name: "'other'",
      mode: "'self-hosted'",
      token_hash: "''",
      labels: "'[]'",
      created_at: "1",
      last_heartbeat_at: String(now),
      metadata: "'{}'",
    },
    others,
  );
  const definition = `'{"source":{"type":"inline","files":{"main.tf":"${"output x { } ".repeat(20)}"}},"backend":"managed"}'`;
  insert(
    "specs",
    {
      id: `printf('00000000-0000-7000-8000-%012x', n)`,
      owner_id: `'${owner}'`,
      zone_id: `'${zone}'`,
      name: "'configuration-' || n",
      project_name: "'configuration-' || n",
      labels: "'[]'",
      definition,
      status: "'DEPLOYED'",
      created_at: "1",
      updated_at: "1",
    },
    configurations,
  );
  insert(
    "variable_sets",
    {
      id: other("cccc"),
      owner_id: `'${owner}'`,
      name: "'set-' || n",
      definition: `'{"variables":{"region":{"value":"eu"}},"environment":{"A_HOST":"a"}}'`,
      created_at: "1",
      updated_at: "1",
    },
    150,
  );
  const ofZone = { set_id: other("cccc"), zone_id: `'${zone}'` };
  insert("variable_set_attachments", ofZone, setsLimit);
  const ofSpec = { spec_id: `printf('00000000-0000-7000-8000-%012x', n)` };
  insert("variable_set_attachments", { set_id: `'${variableSet}'`, ...ofSpec }, configurations);
  const spec = `printf('00000000-0000-7000-8000-%012x', n % ${configurations} + 1)`;
  const specOfFinished = `iif(n % ${inNewest} = 0 and n > ${finished - newest}, printf('00000000-0000-7000-8000-%012x', 1), ${spec})`;
  const at = `${began} + n * 1000`;
  const job = {
    owner_id: `'${owner}'`,
    zone_id: `'${zone}'`,
    labels: "'[]'",
    timeout_seconds: "3600",
    created_by: "'bench@example.com'",
  };
  insert(
    "jobs",
    {
      ...job,
      id: id(at),
      job_type: "iif(n % 2, 'PLAN', 'DEPLOY')",
      // The oldest twentieth failed, and the oldest job was cancelled, so a filter must search far
      // from where it starts.
      status: `iif(n = 1, 'CANCELLED', iif(n <= ${Math.max(finished / 20, leastFailed)}, 'FAILED', 'SUCCESS'))`,
      spec_id: specOfFinished,
      worker_id: `'${worker}'`,
      attempt: "1",
      created_at: at,
      claimed_at: at,
      started_at: at,
      ended_at: at,
      released_at: at,
      last_seq: "0",
    },
    finished,
  );
  const waiting = { ...job, job_type: "'PLAN'", status: "'QUEUED'", attempt: "0" };
  insert("jobs", {
    ...waiting,
    id: `'${waitingJob}'`,
    spec_id: `printf('00000000-0000-7000-8000-%012x', 1)`,
    assigned_worker_id: `'${uuid()}'`,
    created_at: String(now),
  });
  insert(
    "jobs",
    {
      ...waiting,
      id: id(String(now), "n"),
      spec_id: spec,
      created_at: String(now),
    },
    queued,
  );
  db.exec(`insert into job_snapshots (job_id, config_snapshot)
    select jobs.id, json_insert(specs.definition, '$.name', specs.name) from jobs join specs on specs.id = jobs.spec_id order by jobs.id`);
  db.exec(`insert into plan_summaries (job_id, plan_summary)
    select id, '${JSON.stringify(planned)}'
    from jobs where job_type = 'PLAN' and status = 'SUCCESS' order by id`);
  for (const [number, action] of ["job.create", "job.end"].entries())
    insert(
      "audit_entries",
      {
        id: id(at, `n + ${number}000000000`),
        owner_id: `'${owner}'`,
        action: `'${action}'`,
        actor_kind: "'session'",
        target_id: id(at),
        target_name: "'PLAN'",
        details: "'{}'",
        created_at: at,
      },
      finished,
    );
  insert(
    "state_versions",
    {
      spec_id: `printf('00000000-0000-7000-8000-%012x', 1)`,
      serial: "n",
      lineage: "'l'",
      md5: "''",
      size_bytes: "1",
      resources: "0",
      resource_count: "0",
      blob: "'blob-' || n",
      created_at: String(now),
    },
    Math.max(1000, finished / 100),
  );
  insert(
    "logins",
    {
      id: id(at, "n + 1"),
      user_id: `'${owner}'`,
      kind: "'cli'",
      created_at: at,
      expires_at: String(now + 86_400_000),
      revoked_at: at,
    },
    Math.ceil(finished / 100),
  );
  for (const { sql } of indexes) db.exec(sql);
  db.exec("commit");
  if (analyze) db.exec("analyze");
  db.pragma("wal_checkpoint(TRUNCATE)");
  const finishedJob = db
    .prepare("select id from jobs where status = 'SUCCESS' limit 1")
    .pluck()
    .get() as string;
  db.close();
  const configuration = "00000000-0000-7000-8000-000000000001";
  return { owner, worker, zone, emptyZone, configuration, variableSet, waitingJob, finishedJob };
}

/** An SQL expression for the id of a numbered row of one kind. */
const other = (kind: string) => `printf('00000000-0000-7000-8000-${kind}%08x', n)`;

/** An SQL expression for a UUID of version 7 at this time. Such ids sort by time. */
const id = (at: string, tail = "n") =>
  `printf('%08x-%04x-7000-8000-%012x', (${at}) >> 16, (${at}) & 65535, ${tail})`;

/** Inserts rows whose columns are SQL expressions of the row's number `n`. */
const insertInto =
  (db: Database.Database) =>
  (table: string, row: Readonly<Record<string, string>>, amount = 1): void => {
    db.exec(`insert into ${table} (${Object.keys(row).join()})
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${amount})
      select ${Object.values(row).join()} from numbers`);
  };
