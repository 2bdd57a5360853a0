/**
 * `windlass server migrate-store`: a SQLite file with a directory becomes PostgreSQL with S3, and
 * back. Every table has a row.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { parseEnv } from "node:util";
import Database from "better-sqlite3";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { moveStore } from "../../control-plane/backup/move.ts";
import { readConfig, readConfigOf } from "../../control-plane/config.ts";
import { openContext } from "../../control-plane/context.ts";
import { blobTables } from "../../control-plane/store/storage/blob-tables.ts";
import { lackOfS3, startS3, type S3Server } from "../helpers/store/s3-server.ts";
import type { Plane } from "../helpers/plane/plane.ts";
import { inPieces } from "../helpers/machine/pieces.ts";
import {
  command,
  lackOfPostgres,
  startPostgres,
  type PostgresServer,
} from "../helpers/store/postgres.ts";
import { s3FaultProxy } from "../helpers/store/s3-fault-proxy.ts";
import { dump } from "../helpers/store/store-dump.ts";
import { skipAt } from "../helpers/project/tools.ts";
import { bin, windlass } from "../helpers/cli/windlass.ts";

const lack = lackOfPostgres() ?? lackOfS3;
skipAt(lack);

const bucket = "moved";
/** More than one part of an upload. */
const plan = randomBytes(6_000_000);
const line = "a NUL \0, a SUB \u001a and a flag 🏳️\n";

let scratch: string;
let source: string;
let database: PostgresServer;
let s3: S3Server;
let aws: Record<string, string>;
let secrets: Record<string, string>;
beforeAll(async () => {
  if (lack !== undefined) return;
  scratch = await mkdtemp(join(tmpdir(), "migrate-store-"));
  source = join(scratch, "source");
  [database, s3] = await Promise.all([startPostgres(), startS3(bucket)]);
  aws = {
    AWS_ENDPOINT_URL_S3: s3.url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "id",
    AWS_SECRET_ACCESS_KEY: "secret",
  };
  Object.assign(process.env, aws);
  secrets = {
    WINDLASS_SECRET_KEY_FILE: join(source, "secrets/WINDLASS_SECRET_KEY"),
    CLI_JWT_SECRET_FILE: join(source, "secrets/CLI_JWT_SECRET"),
  };
  await fillSource();
});
afterAll(async () => {
  if (lack !== undefined) return;
  for (const name of Object.keys(aws)) delete process.env[name];
  await Promise.all([database.close(), s3[Symbol.asyncDispose]()]);
  await rm(scratch, { recursive: true });
});

/** Creates a store with a row in every table, and a file for each that names files. */
async function fillSource(): Promise<void> {
  const context = await openContext(readConfig({ WINDLASS_DATA_DIR: source }));
  const blobs = new Map<string, string>();
  for (const table of blobTables) {
    const content = table === "plan_artifacts" ? plan : Buffer.from(table);
    blobs.set(table, (await context.blobs.write(inPieces(content), content.length)).blob);
  }
  await context.close();
  const file = new Database(join(source, "windlass.db"));
  file.pragma("foreign_keys = OFF");
  const json: Record<string, string> = {
    labels: "[]",
    features: "[]",
    metadata: "{}",
    definition: '{"source":{"type":"archive","sha256":"1"}}',
    config_snapshot: '{"source":{"type":"archive","sha256":"1"}}',
    log_chunk: line,
  };
  for (const name of tablesOf(file)) {
    if (["schema_version", "facts"].includes(name)) continue;
    const columns = file.pragma(`table_info(${name})`) as { name: string; type: string }[];
    const values = columns.map((column) => {
      // Of a zone or of a configuration.
      if (["schedules", "variable_set_attachments"].includes(name) && column.name === "zone_id")
        return null;
      if (column.name === "definition_id") return null;
      if (column.name === "blob" && blobs.has(name)) return blobs.get(name);
      return column.type.toLowerCase() === "text" ? (json[column.name] ?? "1") : 1;
    });
    file
      .prepare(`insert or replace into ${name} values (${columns.map(() => "?").join()})`)
      .run(...values);
  }
  // A definition that a row names is not loose.
  file.exec(`update specs set definition_id = '1'; insert into loose_definitions values ('2', 1)`);
  // Several batches of rows, of which the newest are gone: their numbers are not given again.
  file.exec(`
    with recursive n (n) as (values (2) union all select n + 1 from n where n < 1500)
      insert into log_chunks (id, job_id, stream_type, log_chunk, created_at)
        select n, '1', 'STDOUT', 'line ' || n, n from n;
    delete from log_chunks where id > 1400;
    insert into jobs (id, owner_id, job_type, status, labels, timeout_seconds, attempt, created_at)
      values ('queued', '1', 'PLAN', 'QUEUED', '[]', 1, 0, 1)`);
  file.close();
}

/** Changes the user in the source. */
function rename(email: string): void {
  const file = new Database(join(source, "windlass.db"));
  file.prepare("update users set email = ?").run(email);
  file.close();
}

const tablesOf = (file: Database.Database): string[] =>
  file
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .pluck()
    .all() as string[];

let files = 0;
/** Writes the settings of a server and returns the path of the file. */
async function settingsFile(settings: Record<string, string>): Promise<string> {
  files += 1;
  const own = { WINDLASS_DATA_DIR: join(scratch, `data-${files}`), ...secrets, ...settings };
  const path = join(scratch, `server-${files}.env`);
  await writeFile(
    path,
    Object.entries(own)
      .map(([name, value]) => `${name}="${value}"\n`)
      .join(""),
  );
  return path;
}

const readEnv = async (path: string) =>
  parseEnv(await readFile(path, "utf8")) as Record<string, string>;

const onPostgres = (url: string, prefix: string): Promise<string> =>
  settingsFile({
    WINDLASS_DATABASE_URL: url,
    WINDLASS_DATABASE_CONNECTIONS: "4",
    WINDLASS_ARTIFACTS_URL: `s3://${bucket}/${prefix}`,
    WINDLASS_S3_PATH_STYLE: "true",
  });

const migrate = (from: string, to: string) =>
  windlass(["server", "migrate-store", "--from", from, "--to", to], { env: aws });

/** Moves in this process. Returns the message of the error. */
const refusal = (from: string, to: string): Promise<string> =>
  Promise.resolve()
    .then(() => moveStore(readConfigOf(from), readConfigOf(to)))
    .then(
      () => "moved",
      (error: Error) => error.message,
    );

/** Facts that differ between places, and tables that only one engine has. */
const ofPlace =
  /^(facts \{"name":"(artifacts_directory|jwt_secret_check)"|sqlite_sequence |blobs )/;

/** Returns every row of a server's store. */
async function rowsOf(place: string): Promise<string[]> {
  const context = await openContext(readConfigOf(place));
  try {
    const lines = await dump({ context, blobs: async () => 0 } as unknown as Plane);
    // Engines return columns in different orders.
    return lines
      .filter((row) => !ofPlace.test(row))
      .map((row) => {
        const [, table, text] = /^(\w+) (.*)$/s.exec(row)!;
        const values = Object.entries(JSON.parse(text!) as Record<string, unknown>);
        return `${table} ${JSON.stringify(values.toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
      })
      .toSorted();
  } finally {
    await context.close();
  }
}

/** Reads the files, and the number of the next log line, as a server does. */
async function contentOf(place: string) {
  const context = await openContext(readConfigOf(place));
  try {
    const { sql } = context.store.read;
    const { blob } = await sql
      .selectFrom("plan_artifacts")
      .select("blob")
      .executeTakeFirstOrThrow();
    const log = await sql
      .selectFrom("log_chunks")
      .select("log_chunk")
      .where("id", "=", 1)
      .executeTakeFirstOrThrow();
    const { id } = await context.store.write((tx) =>
      tx.sql
        .insertInto("log_chunks")
        .values({ job_id: "1", stream_type: "STDOUT", log_chunk: "", created_at: 1 } as never)
        .returning("id")
        .executeTakeFirstOrThrow(),
    );
    await context.store.write((tx) =>
      tx.sql.deleteFrom("log_chunks").where("id", "=", id).execute(),
    );
    const isWhole = (await buffer(await context.blobs.read(blob))).equals(plan);
    return { isWhole, line: log.log_chunk, next: id };
  } finally {
    await context.close();
  }
}

describe("migrate-store", () => {
  test("moves everything to PostgreSQL and S3 and back, and says that it matches", async () => {
    const before = await rowsOf(source);
    const tables = new Set(before.map((row) => row.slice(0, row.indexOf(" "))));
    const file = new Database(join(source, "windlass.db"), { readonly: true });
    expect([...tables].toSorted()).toEqual(tablesOf(file).toSorted());
    file.close();

    const there = await onPostgres(await database.create(), "both");
    const moved = await migrate(source, there);
    expect(moved.exitCode).toBe(0);
    expect(moved.stdout).toMatch(/Moved 14\d\d rows of \d+ tables, 5 files .* digests match/);
    expect(await rowsOf(there)).toEqual(before);
    // The sequence continues after numbers whose rows are gone.
    expect(await contentOf(there)).toEqual({ isWhole: true, line, next: 1501 });

    const back = join(scratch, "back");
    await mkdir(back);
    expect(await refusal(there, back)).toContain("WINDLASS_SECRET_KEY is not set for the target");
    await cp(join(source, "secrets"), join(back, "secrets"), { recursive: true });
    expect(await refusal(there, back)).toBe("moved");
    expect(await rowsOf(back)).toEqual(before);
    expect(await contentOf(back)).toEqual({ isWhole: true, line, next: 1502 });
  });

  test("leaves the files where they are if both servers have them in one place", async () => {
    const url = await database.create();
    const there = await settingsFile({
      WINDLASS_DATABASE_URL: url,
      WINDLASS_ARTIFACTS_URL: `file:${join(source, "blobs")}`,
    });
    const { blobs, keepsSignIns } = await moveStore(readConfigOf(source), readConfigOf(there));
    expect({ blobs, keepsSignIns }).toEqual({ blobs: undefined, keepsSignIns: true });
  });

  test("takes the settings of AWS from the file, and refuses different ones for both servers", async () => {
    const s3 = await readEnv(await onPostgres(await database.create(), "with-aws"));
    const there = await settingsFile({ ...s3, ...aws });
    const bare = { env: { PATH: process.env["PATH"] ?? "" }, extendEnv: false } as const;
    const run = (from: string, to: string) =>
      windlass(["server", "migrate-store", "--from", from, "--to", to], bare);
    const moved = await run(source, there);
    expect([moved.stderr, moved.exitCode]).toEqual([expect.any(String), 0]);
    expect(moved.stdout).toContain("Numbers and digests match");

    const elsewhere = await settingsFile({ ...s3, ...aws, AWS_REGION: "eu-west-1" });
    const refused = await run(there, elsewhere);
    expect(refused.stderr).toBe(
      `windlass server: AWS_REGION differs between ${there} and ${elsewhere}: set it to one value, because a move uses one endpoint and one set of credentials for both`,
    );
    expect(refused.exitCode).toBe(78);
  });

  test("continues after kill -9, and no server starts on what is there until then", async () => {
    const url = await database.createMigrated();
    const there = await onPostgres(url, "killed");
    // One of the last tables: the move waits in front of it.
    const held = new pg.Client({ connectionString: url });
    held.on("error", () => undefined);
    await held.connect();
    await held.query("begin; lock table variable_set_attachments in share mode");
    const child = spawn(bin, ["server", "migrate-store", "--from", source, "--to", there], {
      env: { ...process.env, ...aws },
      stdio: "ignore",
    });
    const exited = once(child, "exit");
    await expect
      .poll(async () => {
        const { rows } = await command(
          url,
          "select count(*)::int as n from pg_locks where not granted",
        );
        return (rows[0] as { n: number }).n;
      })
      .toBeGreaterThan(0);
    child.kill("SIGKILL");
    await exited;
    await held.end();
    // PostgreSQL ends the session of a client that is gone.
    const sessions =
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'windlass'";
    await expect.poll(async () => (await command(url, sessions)).rows).toEqual([{ n: 0 }]);
    const refused = await windlass(["server"], {
      env: { ...aws, ...(await readEnv(there)), WINDLASS_PORT: "0" },
    });
    expect(refused).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining('run "windlass server migrate-store" again'),
    });
    const other = join(scratch, "other");
    await cp(source, other, { recursive: true });
    expect(await refusal(other, there)).toContain("was interrupted: name that source again");

    // The table of users is complete. If a server has used the source since, it is not the same.
    rename("2");
    expect(await refusal(source, there)).toMatch(/table users differs: .* but not the same ones/);
    rename("1");
    expect(await refusal(source, there)).toBe("moved");
    expect(await rowsOf(there)).toEqual(await rowsOf(source));
    expect(await contentOf(there)).toMatchObject({ isWhole: true, line });
  });

  test("continues after kill -9 while it copies files, some of them and half of one", async () => {
    const url = await database.createMigrated();
    const there = await onPostgres(url, "killed-in-files");
    await using proxy = await s3FaultProxy(s3.url);
    // The second part of the plan, after the small files.
    proxy.fault = ({ url }) => (url.includes("partNumber=2") ? "hang" : undefined);
    const child = spawn(bin, ["server", "migrate-store", "--from", source, "--to", there], {
      env: { ...process.env, ...aws, AWS_ENDPOINT_URL_S3: proxy.url },
      stdio: "ignore",
    });
    const exited = once(child, "exit");
    await expect.poll(() => proxy.seen.some((call) => call.includes("partNumber=2"))).toBe(true);
    child.kill("SIGKILL");
    await exited;
    const refused = await windlass(["server"], {
      env: { ...aws, ...(await readEnv(there)), WINDLASS_PORT: "0" },
    });
    expect(refused).toMatchObject({
      exitCode: 78,
      stderr: expect.stringContaining('run "windlass server migrate-store" again'),
    });
    const again = await migrate(source, there);
    expect([again.exitCode, again.stderr]).toEqual([0, expect.any(String)]);
    expect(again.stdout).toMatch(/5 files .* digests match/);
    expect(await rowsOf(there)).toEqual(await rowsOf(source));
    expect(await contentOf(there)).toMatchObject({ isWhole: true, line });
  });

  test("refuses a wrong key, a full target and servers that run, and changes nothing", async () => {
    const url = await database.createMigrated();
    const there = await onPostgres(url, "refused");
    const wrong = await settingsFile({
      ...(await readEnv(there)),
      WINDLASS_SECRET_KEY_FILE: join(source, "secrets/CLI_JWT_SECRET"),
    });
    const kept = join(source, "secrets/WINDLASS_SECRET_KEY");
    expect(await refusal(source, wrong)).toMatch(
      new RegExp(`is not the key that the data is encrypted with.*directory has it: .*${kept}`),
    );
    // After a change of the key, that file may have an older one.
    const rotated = join(scratch, "rotated");
    await cp(source, rotated, { recursive: true });
    await writeFile(join(rotated, "secrets/WINDLASS_SECRET_KEY"), "k".repeat(44));
    const older = await refusal(rotated, wrong);
    expect(older).toContain("set it for the target to the key of the source");
    expect(older).not.toContain("has it");
    expect(await refusal(source, source)).toContain("name the same database");
    const facts = () => command(url, "select * from facts");
    expect((await facts()).rows).toEqual([]);

    const atSource = await openContext(readConfigOf(source));
    expect(await refusal(source, there)).toContain("another Windlass server");
    await atSource.close();
    const atTarget = await openContext(readConfigOf(there));
    // In a data directory of its own, as on another machine.
    const elsewhere = await settingsFile({
      ...(await readEnv(there)),
      WINDLASS_DATA_DIR: join(scratch, "elsewhere"),
    });
    expect(await refusal(source, elsewhere)).toContain(
      "a control plane, or another move, uses the database",
    );
    await atTarget.close();

    await command(
      url,
      "insert into users (id, email, created_at) values ('a', 'a@example.com', 1)",
    );
    expect(await refusal(source, there)).toContain("is not empty (its table ");
    const full = await onPostgres(await database.create(), "both");
    expect(await refusal(source, full)).toContain("already contains files");
    expect(await readdir(join(source, "blobs"))).not.toHaveLength(0);
  });

  test("names files that the source has lost", async () => {
    const there = await onPostgres(await database.create(), "lost");
    const copy = join(scratch, "copy");
    await cp(source, copy, { recursive: true });
    const file = new Database(join(copy, "windlass.db"));
    const names = blobTables.map((table) => `select blob from ${table}`).join(" union ");
    const [lost] = file.prepare(`${names} order by 1`).pluck().all() as string[];
    await rm(join(copy, "blobs", lost!.slice(0, 2), lost!.slice(2)));
    file.close();
    const { blobs } = await moveStore(readConfigOf(copy), readConfigOf(there));
    expect(blobs?.missing).toContain(lost);
  });

  test("explains itself", async () => {
    const help = await windlass(["server", "migrate-store", "--help"]);
    expect(help.stdout).toContain("Usage: windlass server migrate-store --from PLACE --to PLACE");
    expect((await windlass(["server", "migrate-store"])).exitCode).toBe(2);
    expect(await refusal(source, join(scratch, "no-such.env"))).toContain("does not exist");
  });
});
