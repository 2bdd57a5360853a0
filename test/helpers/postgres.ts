/**
 * A PostgreSQL server that a test run starts by itself: the machine's programs on a data directory
 * of its own. It ends with the process that started it, however that ends.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { openPostgres } from "../../control-plane/store/engines/postgres.ts";

export interface PostgresServer {
  /** The address of a database. */
  url(database: string): string;
  /** Creates an empty database, returns its address. */
  create(): Promise<string>;
  /** Returns the name of a database with Windlass's tables, to copy. */
  migrated(): Promise<string>;
  /** Creates a database with Windlass's tables, returns its address. */
  createMigrated(): Promise<string>;
  /** Ends it at once, as a crash does, and starts it again on the same data. */
  restart(): Promise<void>;
  /** Ends it, as a crash does. `restart` starts it again. */
  kill(): Promise<void>;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

/** The oldest version that Windlass supports comes last: the newest one is used. */
function findPrograms(): string | undefined {
  const named = process.env["PG_BIN"];
  if (named !== undefined) return named;
  const versions = globSync("/usr/lib/postgresql/*/bin").toSorted(
    (a, b) => versionIn(b) - versionIn(a),
  );
  const onPath = (process.env["PATH"] ?? "").split(":");
  return [...versions, ...onPath].find((folder) => existsSync(join(folder, "initdb")));
}

const versionIn = (folder: string): number => Number(/postgresql\/(\d+)/.exec(folder)?.[1]);

/** Returns why there can be no PostgreSQL here; undefined if there can. */
export const lackOfPostgres = (): string | undefined =>
  findPrograms() === undefined
    ? "needs PostgreSQL's programs (initdb, postgres) in /usr/lib/postgresql or on the PATH"
    : undefined;

/** PostgreSQL refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const template = "windlass_template";

/** Its data survives its own end, which is enough: nothing must survive the machine. */
const settings = [
  "listen_addresses=",
  "fsync=off",
  "full_page_writes=off",
  "shared_buffers=32MB",
  "max_connections=300",
  "max_wal_size=256MB",
];

/** Starts a server. It is reached by a socket in its own directory. */
export async function startPostgres(): Promise<PostgresServer> {
  const programs = findPrograms();
  if (programs === undefined) throw new Error(lackOfPostgres());
  const directory = await mkdtemp(join(tmpdir(), "pg-"));
  if (user.uid !== undefined) chownSync(directory, user.uid, user.gid);
  const data = join(directory, "data");
  // Sorted as people do, so that a column without a collation of its own shows.
  const locale = ["--locale-provider=icu", "--icu-locale=en-US"];
  await promisify(execFile)(
    join(programs, "initdb"),
    ["-D", data, "-U", "windlass", "-A", "trust", "-E", "UTF8", "--no-sync", ...locale],
    { ...user, cwd: directory },
  );

  const start = async (): Promise<ChildProcess> => {
    // The shell ends PostgreSQL when its standard input closes: with this process.
    const started = spawn(
      "sh",
      [
        "-c",
        '"$@" & trap "" TERM INT; cat >/dev/null; kill -QUIT $!; wait $!',
        "sh",
        join(programs, "postgres"),
        "-D",
        data,
        "-k",
        directory,
        ...settings.flatMap((setting) => ["-c", setting]),
      ],
      { ...user, cwd: directory, stdio: ["pipe", "ignore", "ignore"] },
    );
    for (;;) {
      if (await answers(url("postgres"))) return started;
      if (started.exitCode !== null) throw new Error("PostgreSQL did not start");
    }
  };
  const url = (database: string): string =>
    `postgres:///${database}?host=${encodeURIComponent(directory)}&user=windlass`;
  let running: ChildProcess | undefined = await start();
  let made = 0;
  let isMigrated: Promise<void> | undefined;

  const migrateTemplate = async (): Promise<void> => {
    await command(url("postgres"), `create database ${template}`);
    const store = await openPostgres({ url: url(template), connections: 3 });
    await store.close();
  };
  const migrated = async (): Promise<string> => {
    await (isMigrated ??= migrateTemplate());
    return template;
  };
  const create = async (from: string): Promise<string> => {
    made += 1;
    const name = `test_${process.pid}_${made}`;
    await command(url("postgres"), `create database ${name} template ${from}`);
    return url(name);
  };
  const kill = async (): Promise<void> => {
    if (running === undefined) return;
    const closed = once(running, "close");
    running.stdin?.end();
    running = undefined;
    await closed;
  };
  return {
    url,
    create: () => create("template1"),
    migrated,
    createMigrated: async () => create(await migrated()),
    kill,
    restart: async () => {
      await kill();
      running = await start();
    },
    close: async () => {
      await kill();
      await rm(directory, { recursive: true });
    },
  };
}

/** Runs one command on a database. */
export async function command(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await client.query(text);
  } finally {
    await client.end();
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await command(url, "select 1");
    return true;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return false;
  }
}
