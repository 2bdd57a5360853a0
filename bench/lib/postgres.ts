/** A PostgreSQL server whose database has a history and a queue, for a bench. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { v7 as uuid } from "uuid";
import { hashToken } from "../../control-plane/domain/tokens.ts";
import { startPostgres } from "../../test/helpers/store/postgres.ts";
import { token } from "./fill.ts";
import { cpuMicroseconds } from "./processes.ts";

export interface Filled {
  readonly owner: string;
  readonly zone: string;
  /** Workers of the owner, which may take every queued job. */
  readonly workers: readonly string[];
}

export interface FilledPostgres extends Filled {
  readonly url: string;
  /** CPU microseconds of all its processes. */
  cpuMicroseconds(): number;
  close(): Promise<void>;
}

interface QueueSize {
  readonly finished: number;
  /** Jobs that can be claimed, each of a configuration of its own. */
  readonly queued: number;
  readonly workers: number;
  /** How many classes the queued jobs have, in turn; default 1. */
  readonly classes?: number;
}

/** Starts a server that flushes every commit to disk, and fills a database of it by SQL. */
export async function startFilledPostgres(size: QueueSize): Promise<FilledPostgres> {
  const server = await startPostgres({ isDurable: true });
  const url = await server.createMigrated();
  const postmaster = postmasterOf(url);
  return {
    url,
    ...(await fillPostgres(url, size)),
    cpuMicroseconds: () => cpuMicroseconds(postmaster) + cpuOfChildren(postmaster),
    close: () => server.close(),
  };
}

/** Returns the process that started all others of PostgreSQL. */
function postmasterOf(url: string): number {
  const folder = new URL(url).searchParams.get("host")!;
  return Number.parseInt(readFileSync(join(folder, "data/postmaster.pid"), "utf8"));
}

/** The CPU time of the processes that it started, including those that have ended. */
function cpuOfChildren(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").map(Number),
  );
  const running = children.map((child) => {
    try {
      return cpuMicroseconds(child);
    } catch {
      // It has ended meanwhile.
      return 0;
    }
  });
  const [, fields] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields!.split(" ").slice(13, 15).map(Number);
  return running.reduce((sum, one) => sum + one, (user! + system!) * tickMicroseconds);
}

/** The unit of times in /proc/PID/stat. */
const tickMicroseconds = 10_000;

/** Settings of a control plane on such a database, with files at the address of a directory. */
export const onPostgres = (url: string, artifacts: string): Record<string, string> => ({
  WINDLASS_DATABASE_URL: url,
  WINDLASS_ARTIFACTS_URL: artifacts,
  CLI_JWT_SECRET: "j".repeat(40),
  WINDLASS_SECRET_KEY: "k".repeat(40),
});

/** Fills a database that has Windlass's tables and nothing else. */
export async function fillPostgres(url: string, size: QueueSize): Promise<Filled> {
  const [owner, zone] = [uuid(), uuid()];
  const workers = Array.from({ length: size.workers }, () => uuid());
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const now = Date.now();
  const began = now - size.finished * 1000 - 86_400_000;
  const job = "owner_id, zone_id, labels, timeout_seconds";
  const ofJob = `'${owner}', '${zone}', '[]', 3600`;
  // Triggers run for each row: the queue heads are made at once instead.
  for (const statement of [
    `alter table jobs disable trigger user`,
    `insert into users (id, email, created_at) values ('${owner}', 'bench@example.com', 1)`,
    `insert into zones (id, owner_id, name, created_at, updated_at) values ('${zone}', '${owner}', 'zone', 1, 1)`,
    `insert into workers (id, owner_id, name, mode, token_hash, labels, metadata, created_at, last_heartbeat_at)
      select id, '${owner}', 'bench', 'self-hosted', '${hashToken(token)}', '[]', '{}', 1, ${now}
      from unnest('{${workers.join()}}'::text[]) as id`,
    `insert into specs (id, owner_id, zone_id, name, project_name, labels, definition, status, created_at, updated_at)
      select ${spec("n")}, '${owner}', '${zone}', 'configuration-' || n, 'configuration-' || n, '[]', '${definition}',
        'DEPLOYED', 1, 1 from generate_series(1, ${size.queued}) as n`,
    `insert into jobs (id, ${job}, job_type, status, spec_id, worker_id, attempt,
        created_at, claimed_at, started_at, ended_at, released_at, last_seq)
      select ${id("at")}, ${ofJob}, case n % 2 when 0 then 'PLAN' else 'DEPLOY' end, 'SUCCESS', ${spec("n % 100 + 1")},
        '${workers[0]!}', 1, at, at, at, at, at, 0
      from generate_series(1, ${size.finished}) as n, lateral (select ${began} + n * 1000 as at) as ended`,
    `alter table jobs enable trigger user`,
    `insert into jobs (id, ${job}, job_type, status, spec_id, attempt, created_at, queue_class)
      select ${id("at")}, ${ofJob}, 'PLAN', 'QUEUED', ${spec("n")}, 0, at, n % ${size.classes ?? 1}
      from generate_series(1, ${size.queued}) as n, lateral (select ${now} as at) as created`,
    `insert into job_snapshots (job_id, config_snapshot) select id, '${definition}' from jobs order by id`,
    `vacuum analyze`,
    `checkpoint`,
  ])
    await client.query(statement);
  await client.end();
  return { owner, zone, workers };
}

/** Adds workers of another owner, who has no jobs. Returns their ids. */
export async function addIdleWorkers(url: string, count: number): Promise<string[]> {
  const owner = uuid();
  const ids = Array.from({ length: count }, () => uuid());
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`insert into users (id, email, created_at) values ('${owner}', 'idle@example.com', 1);
    insert into workers (id, owner_id, name, mode, token_hash, labels, metadata, created_at, last_heartbeat_at)
      select id, '${owner}', 'idle', 'self-hosted', '${hashToken(token)}', '[]', '{}', 1, ${Date.now()}
      from unnest('{${ids.join()}}'::text[]) as id;
    analyze workers`);
  await client.end();
  return ids;
}

const definition = `{"source":{"type":"inline","files":{"main.tf":"${"output x { } ".repeat(20)}"}},"backend":"managed"}`;

/** SQL of the id of a numbered configuration. */
const spec = (n: string) => `'00000000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0')`;

/** SQL of a UUID of version 7 at a time. Such ids sort by time. */
const id = (at: string) =>
  `regexp_replace(lpad(to_hex(${at}), 12, '0'), '(.{8})(.{4})', '\\1-\\2') || '-7000-8000-' || lpad(to_hex(n), 12, '0')`;
