/** What a server has acknowledged, and a check that its data directory contains all of it. */
import { createHash } from "node:crypto";
import {
  cpSync,
  createReadStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { Blobs } from "../../../control-plane/blobs/blobs.ts";
import { sealedBlobs } from "../../../control-plane/blobs/sealed.ts";
import { readConfig } from "../../../control-plane/config.ts";
import { secretBox } from "../../../control-plane/domain/secret-box.ts";
import { readFrame, readFrames } from "../../../control-plane/services/logs/archive-format.ts";
import type { LogArchiveRow } from "../../../control-plane/store/logs/archives.ts";

export interface AcknowledgedChunk {
  readonly seq: number;
  readonly text: string;
  /** The id in the response: that of the last chunk of the post. */
  readonly id?: number;
}

/** Everything that the server acknowledged with success. */
export class Acknowledged {
  readonly created = new Set<string>();
  /** The claims that returned a job, by job. A repeated claim counts once. */
  readonly claims = new Map<string, Set<string>>();
  readonly started = new Set<string>();
  /** Chunks by job, in their order. */
  readonly logs = new Map<string, AcknowledgedChunk[]>();
  /** States by the configuration's name and their serial. */
  readonly states = new Map<string, Map<number, Buffer>>();
  /** SHA-256 digests by job. */
  readonly artifacts = new Map<string, string>();
  readonly ended = new Map<string, { readonly lastSeq: number }>();
}

export const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const md5 = (bytes: Buffer): string => createHash("md5").update(bytes).digest("hex");

/**
 * Returns what was acknowledged and is missing or incomplete in the data directory. The server must
 * not run; a copy of the database is opened.
 */
export async function findBreaches(
  directory: string,
  acknowledged: Acknowledged,
): Promise<string[]> {
  const { databaseFile, artifactsDirectory } = readConfig({ WINDLASS_DATA_DIR: directory });
  if (!existsSync(databaseFile))
    return acknowledged.created.size > 0 ? ["there is no database"] : [];
  const place = mkdtempSync(join(tmpdir(), "copy-"));
  const copy = join(place, "copy.db");
  for (const suffix of ["", "-wal"])
    if (existsSync(databaseFile + suffix)) cpSync(databaseFile + suffix, copy + suffix);
  const db = new Database(copy);
  try {
    const whole = [
      ...(db.pragma("integrity_check") as { integrity_check: string }[])
        .map((row) => row.integrity_check)
        .filter((line) => line !== "ok"),
      ...(db.pragma("foreign_key_check") as unknown[]).map((row) => JSON.stringify(row)),
    ];
    const isEmpty = db.prepare("select 1 from sqlite_master limit 1").get() === undefined;
    if (isEmpty)
      return [...whole, ...(acknowledged.created.size > 0 ? ["the schema is missing"] : [])];
    return [
      ...whole,
      ...jobBreaches(db, acknowledged),
      ...(await logBreaches(db, acknowledged, directory)),
      ...stateBreaches(db, acknowledged),
      ...contentBreaches(db, acknowledged, artifactsDirectory),
    ];
  } finally {
    db.close();
    rmSync(place, { recursive: true });
  }
}

/**
 * Returns what the data directory contains although it was never acknowledged. After a stop that
 * waits for its responses there is nothing of this kind.
 */
export function findUnacknowledged(directory: string, acknowledged: Acknowledged): string[] {
  const db = new Database(readConfig({ WINDLASS_DATA_DIR: directory }).databaseFile, {
    readonly: true,
  });
  const ids = (sql: string) => db.prepare<[], string>(sql).pluck().all();
  const unknown = (what: string, found: string[], known: { has(id: string): boolean }) =>
    found.filter((id) => !known.has(id)).map((id) => `${what} ${id}`);
  const chunks = [...acknowledged.logs].flatMap(([job, log]) =>
    log.map(({ seq }) => `${job} ${seq}`),
  );
  const states = [...acknowledged.states].flatMap(([name, versions]) =>
    [...versions.keys()].map((serial) => `${name} ${serial}`),
  );
  try {
    return [
      ...unknown("job", ids("select id from jobs"), acknowledged.created),
      ...unknown(
        "claim of",
        ids("select id from jobs where status <> 'QUEUED'"),
        acknowledged.claims,
      ),
      ...unknown("start of", ids("select id from jobs where started_at > 0"), acknowledged.started),
      ...unknown("end of", ids("select id from jobs where ended_at > 0"), acknowledged.ended),
      ...unknown("plan of", ids("select job_id from plan_artifacts"), acknowledged.artifacts),
      ...unknown("chunk", ids("select job_id || ' ' || seq from log_chunks"), new Set(chunks)),
      ...unknown(
        "state",
        ids("select name || ' ' || serial from state_versions join specs on specs.id = spec_id"),
        new Set(states),
      ),
    ];
  } finally {
    db.close();
  }
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly attempt: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly released_at: number | null;
  readonly last_seq: number | null;
}

function jobBreaches(db: Database.Database, acknowledged: Acknowledged): string[] {
  const rows = db.prepare<[], Job>("select * from jobs").all();
  const jobs = new Map(rows.map((job) => [job.id, job]));
  const found: string[] = [];
  for (const id of acknowledged.created) if (!jobs.has(id)) found.push(`job ${id} is missing`);
  for (const [id, claims] of acknowledged.claims) {
    if (claims.size > 1) found.push(`job ${id} was claimed as ${[...claims].join(" and ")}`);
    if ((jobs.get(id)?.attempt ?? 0) < 1) found.push(`the claim of job ${id} is missing`);
  }
  for (const id of acknowledged.started)
    if (typeof jobs.get(id)?.started_at !== "number")
      found.push(`the start of job ${id} is missing`);
  for (const [id, { lastSeq }] of acknowledged.ended) {
    const job = jobs.get(id);
    if (job?.status !== "SUCCESS" || job.last_seq !== lastSeq)
      found.push(`the end of job ${id} is missing: ${JSON.stringify(job)}`);
  }
  for (const job of rows) {
    if ((job.status === "SUCCESS") !== (job.ended_at !== null))
      found.push(`job ${job.id} is ${job.status} without a matching end`);
  }
  return found;
}

interface LogRow {
  readonly id: number;
  readonly job_id: string;
  readonly seq: number | null;
  readonly log_chunk: string;
}

async function logBreaches(
  db: Database.Database,
  acknowledged: Acknowledged,
  directory: string,
): Promise<string[]> {
  const rows = [
    ...(await archivedRows(db, directory)),
    ...db
      .prepare<[], LogRow>(
        `select id, job_id, seq, log_chunk from log_chunks where id > coalesce(
          (select last_id from log_archives where log_archives.job_id = log_chunks.job_id), 0) order by id`,
      )
      .all(),
  ];
  const found: string[] = [];
  const byJob = Map.groupBy(rows, (row) => row.job_id);
  for (const [job, chunks] of byJob)
    if (chunks.some(({ seq }, index) => seq !== index + 1))
      found.push(`the log of job ${job} is ${chunks.map(({ seq }) => seq).join()}`);
  for (const [job, chunks] of acknowledged.logs)
    for (const { seq, text, id } of chunks) {
      const row = byJob.get(job)?.[seq - 1];
      if (row?.log_chunk !== text || (id !== undefined && row.id !== id))
        found.push(`chunk ${seq} (id ${id}) of job ${job} differs from what was acknowledged`);
    }
  return found;
}

/** The chunks of archived logs. */
async function archivedRows(db: Database.Database, directory: string): Promise<LogRow[]> {
  const archives = db.prepare<[], LogArchiveRow>("select * from log_archives").all();
  if (archives.length === 0) return [];
  const key = readFileSync(join(directory, "secrets", "WINDLASS_SECRET_KEY"), "utf8");
  const { artifactsDirectory } = readConfig({ WINDLASS_DATA_DIR: directory });
  const files = {
    read: async (blob: string, range?: { start: number; end: number }) =>
      createReadStream(join(artifactsDirectory, blob.slice(0, 2), blob.slice(2)), range),
  } as unknown as Blobs;
  const blobs = sealedBlobs(files, secretBox([key], "blobs"));
  const rows: LogRow[] = [];
  for (const archive of archives) {
    const frames = await readFrames(blobs, archive);
    for (const index of frames.keys())
      for (const chunk of await readFrame(blobs, archive, frames, index))
        rows.push({ ...chunk, job_id: archive.job_id });
  }
  return rows;
}

function stateBreaches(db: Database.Database, acknowledged: Acknowledged): string[] {
  const rows = db
    .prepare<[], { name: string; serial: number; md5: string }>(
      "select name, serial, md5 from state_versions join specs on specs.id = spec_id order by state_versions.id",
    )
    .all();
  const found: string[] = [];
  for (const [name, versions] of Map.groupBy(rows, (row) => row.name))
    if (versions.some(({ serial }, index) => serial !== index + 1))
      found.push(`the states of ${name} are ${versions.map(({ serial }) => serial).join()}`);
  for (const [name, versions] of acknowledged.states)
    for (const [serial, content] of versions)
      if (
        !rows.some((row) => row.name === name && row.serial === serial && row.md5 === md5(content))
      )
        found.push(`state ${serial} of ${name} is missing`);
  return found;
}

function contentBreaches(
  db: Database.Database,
  acknowledged: Acknowledged,
  blobs: string,
): string[] {
  const artifacts = db
    .prepare<[], { job_id: string; sha256: string }>("select job_id, sha256 from plan_artifacts")
    .all();
  const digests = new Map(artifacts.map((row) => [row.job_id, row.sha256]));
  const named = db
    .prepare<[], { blob: string; size_bytes: number }>(
      `select blob, size_bytes from plan_artifacts union all select blob, size_bytes from state_versions
      union all select blob, size_bytes from archives union all select blob, size_bytes from log_archives`,
    )
    .all();
  const isThere = ({ blob, size_bytes }: { blob: string; size_bytes: number }): boolean => {
    const file = join(blobs, blob.slice(0, 2), blob.slice(2));
    return existsSync(file) && statSync(file).size > size_bytes;
  };
  return [
    ...[...acknowledged.artifacts]
      .filter(([job, digest]) => digests.get(job) !== digest)
      .map(([job]) => `the artifact of job ${job} is missing`),
    ...named.filter((row) => !isThere(row)).map(({ blob }) => `blob ${blob} is missing`),
  ];
}
