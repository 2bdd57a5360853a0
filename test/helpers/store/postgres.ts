/**
 * A PostgreSQL server that a test run starts by itself: the machine's programs on a data directory
 * of its own. It ends with the process that started it, however that ends.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, globSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "../network/free-port.ts";
import { openPostgres } from "../../../control-plane/store/engines/postgres.ts";

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
  /** Starts a standby, which has what this server has committed, synchronously. */
  standby(): Promise<Standby>;
  /** Ends it and removes its data. */
  close(): Promise<void>;
}

export interface Standby extends Pick<PostgresServer, "url" | "close"> {
  readonly port: number;
  /** Makes it a primary. */
  promote(): Promise<void>;
}

export interface PostgresOptions {
  /** A port of the loopback, by which it is reached besides by the socket in its own directory. */
  readonly port?: number;
  /** Speaks TLS with this certificate. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
  /** Whether it flushes every commit to disk, as an operator's server does. */
  readonly isDurable?: boolean;
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

/** As docs/postgresql.md, "Row security", says. */
const createRoles = `
  create role server login;
  create role server_people nologin;
  grant server_people to server`;

/** The address with the role of a server, which owns no table. */
export const asServer = (url: string): string => url.replace("user=windlass", "user=server");

const settings = ["max_connections=300"];
/** Its data survives its own end, which is enough: nothing must survive the machine. */
const fast = ["fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_wal_size=256MB"];
const durable = ["shared_buffers=512MB", "max_wal_size=4GB"];

/** A server on a data directory that `make` fills by running PostgreSQL's programs. */
async function startServer(
  make: (run: RunProgram, data: string) => Promise<void>,
  { port, tls, isDurable = false }: PostgresOptions,
) {
  const programs = findPrograms();
  if (programs === undefined) throw new Error(lackOfPostgres());
  const directory = await mkdtemp(join(tmpdir(), "pg-"));
  if (user.uid !== undefined) chownSync(directory, user.uid, user.gid);
  const data = join(directory, "data");
  await make(async (program, words) => {
    await promisify(execFile)(join(programs, program), words, { ...user, cwd: directory });
  }, data);
  const reached =
    port === undefined
      ? ["listen_addresses="]
      : ["listen_addresses=127.0.0.1,127.0.0.2", `port=${port}`];
  if (tls) {
    for (const [name, bytes] of Object.entries(tls)) {
      const file = join(directory, name);
      writeFileSync(file, bytes, { mode: 0o600 });
      if (user.uid !== undefined) chownSync(file, user.uid, user.gid);
      reached.push(`ssl_${name}_file=${file}`);
    }
    reached.push("ssl=on");
  }

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
        ...[...settings, ...(isDurable ? durable : fast), ...reached].flatMap((setting) => [
          "-c",
          setting,
        ]),
      ],
      { ...user, cwd: directory, stdio: ["pipe", "ignore", "ignore"] },
    );
    for (;;) {
      if (await answers(url("postgres"))) return started;
      if (started.exitCode !== null) throw new Error("PostgreSQL did not start");
    }
  };
  const url = (database: string): string =>
    `postgres:///${database}?host=${encodeURIComponent(directory)}&port=${port ?? 5432}&user=windlass`;
  let running: ChildProcess | undefined = await start();
  const kill = async (): Promise<void> => {
    if (running === undefined) return;
    const closed = once(running, "close");
    running.stdin?.end();
    running = undefined;
    await closed;
  };
  return {
    url,
    directory,
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

/** Runs a program of PostgreSQL. */
type RunProgram = (program: string, words: readonly string[]) => Promise<void>;

/** Starts a server. It is reached by a socket in its own directory, and at a port if it has one. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  // Sorted as people do, so that a column without a collation of its own shows.
  const locale = ["--locale-provider=icu", "--icu-locale=en-US"];
  const server = await startServer(
    (run, data) =>
      run("initdb", [
        "-D",
        data,
        "-U",
        "windlass",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
        ...locale,
      ]),
    options,
  );
  const { url } = server;
  let made = 0;
  let isMigrated: Promise<void> | undefined;

  const migrateTemplate = async (): Promise<void> => {
    await command(url("postgres"), createRoles);
    await command(url("postgres"), `create database ${template}`);
    const ownerUrl = url(template);
    const store = await openPostgres({ url: asServer(ownerUrl), ownerUrl, connections: 3 });
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
  return {
    ...server,
    create: () => create("template1"),
    migrated,
    createMigrated: async () => create(await migrated()),
    standby: async () => {
      const port = await freePort();
      const from = `host=${server.directory} port=${options.port ?? 5432} user=windlass application_name=standby`;
      const standby = await startServer(
        (run, data) =>
          run("pg_basebackup", ["-d", from, "-D", data, "-R", "-X", "stream", "-N", "-c", "fast"]),
        { port },
      );
      // From now on a commit waits for the standby.
      await command(url("postgres"), "alter system set synchronous_standby_names = 'standby'");
      await command(url("postgres"), "select pg_reload_conf()");
      return {
        ...standby,
        port,
        promote: async () => void (await command(standby.url("postgres"), "select pg_promote()")),
      };
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
