/**
 * Moves all data of a stopped server to another database, another place for files, or both. The
 * source is only read. See store/moving/tables.ts for what an interrupted move leaves.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../common/settings/config-error.ts";
import { openBlobs } from "../blobs/open.ts";
import { s3Address } from "../blobs/s3-place.ts";
import type { ServerConfig } from "../config.ts";
import { holdData } from "../data-directory/lock.ts";
import { refuseHalfRestored } from "../data-directory/restore-mark.ts";
import { opensStore } from "../data-directory/secret-keys.ts";
import { findSecret } from "../data-directory/secrets.ts";
import { requireSharedSecrets } from "../data-directory/shared-secrets.ts";
import { openBeside, openSqlite } from "../store/engines/sqlite.ts";
import { moveMark, secretKeyChecks } from "../store/facts.ts";
import type { MoveDatabase } from "../store/moving/database.ts";
import {
  blobNames,
  countRows,
  findFilled,
  findMove,
  finishMove,
  markMove,
  moveTables,
  readFacts,
  type MovedTables,
} from "../store/moving/tables.ts";
import { blobTables } from "../store/storage/blob-tables.ts";
import { withProgress } from "./files.ts";
import { hasBlobs, moveBlobs, type MovedBlobs } from "./move-blobs.ts";

export interface MovedStore {
  readonly from: string;
  readonly to: string;
  readonly tables: MovedTables;
  /** Undefined: source and target have their files in the same place. */
  readonly blobs: MovedBlobs | undefined;
  /** Whether tokens of users stay valid. */
  readonly keepsSignIns: boolean;
}

/** Moves everything. Throws, and leaves the target marked or unchanged, if that is not possible. */
export async function moveStore(from: ServerConfig, to: ServerConfig): Promise<MovedStore> {
  if (databaseOf(from) === databaseOf(to))
    throw new ConfigError(
      `--from and --to name the same database, ${databaseOf(from)}: name another one for the target`,
    );
  if (!from.postgres && !existsSync(from.databaseFile))
    throw new ConfigError(
      `there is no database at ${from.databaseFile}: set --from to the server's data directory, or to the file with its settings`,
    );
  for (const { dataDirectory } of [from, to]) refuseHalfRestored(dataDirectory);
  if (to.postgres) requireSharedSecrets(to);
  const release = holdData(from, to);
  const open: MoveDatabase[] = [];
  try {
    const source = await openSource(from);
    open.push(source);
    await checkSource(source, from, to);
    const target = await openTarget(to);
    open.push(target);
    return await move(from, source, to, target);
  } finally {
    for (const side of open) await side.close();
    release();
  }
}

async function move(
  from: ServerConfig,
  source: MoveDatabase,
  to: ServerConfig,
  target: MoveDatabase,
): Promise<MovedStore> {
  const isSamePlace = filesOf(from) === filesOf(to);
  // The source may have uploads that a crash interrupted: they are its own.
  const sourceBlobs = await openBlobs(from, { isShared: true });
  const targetBlobs = isSamePlace ? sourceBlobs : await openBlobs(to);
  const name = `${databaseOf(from)} with files in ${filesOf(from)}`;
  const begun = await findMove(target);
  if (begun === undefined) {
    const filled = await findFilled(target);
    if (filled !== undefined)
      throw new ConfigError(
        `the target ${databaseOf(to)} is not empty (its table ${filled} has rows): name an empty database`,
      );
    if (!isSamePlace && (await hasBlobs(targetBlobs)))
      throw new ConfigError(
        `the target ${filesOf(to)} already contains files: name an empty directory or another prefix of the bucket`,
      );
    await markMove(target, name);
  } else if (begun !== name)
    throw new ConfigError(
      `a move of ${begun} to ${databaseOf(to)} was interrupted: name that source again, or an empty target`,
    );

  const total = await countRows(source);
  const tables = await withProgress(
    "copying and checking rows",
    () => total,
    (step) => moveTables(source, target, step),
    "rows",
  );
  const blobs = isSamePlace ? undefined : await moveFiles();
  await finishMove(source, target);
  const keepsSignIns = jwtSecretOf(from) === jwtSecretOf(to) && jwtSecretOf(to) !== undefined;
  return {
    from: name,
    to: `${databaseOf(to)} with files in ${filesOf(to)}`,
    tables,
    blobs,
    keepsSignIns,
  };

  async function moveFiles(): Promise<MovedBlobs> {
    let count = 0;
    for (const table of blobTables) count += await source.count(table);
    return withProgress(
      "copying and checking files",
      () => count,
      (step) => moveBlobs(blobNames(source, blobTables), sourceBlobs, targetBlobs, step),
    );
  }
}

/** Opens the database of a stopped server. Throws `SchemaError` if its schema is not this one's. */
async function openSource({ postgres, databaseFile }: ServerConfig): Promise<MoveDatabase> {
  if (postgres) {
    const { openPostgresBeside } = await import("../store/engines/postgres.ts");
    await (await openPostgresBeside({ ...postgres, connections: 2 })).close();
    return openLocked(postgres.url);
  }
  await (await openBeside(databaseFile)).close();
  return openSqliteFile(databaseFile);
}

async function openTarget({ postgres, databaseFile }: ServerConfig): Promise<MoveDatabase> {
  if (postgres) {
    const { openPostgres } = await import("../store/engines/postgres.ts");
    await (await openPostgres({ ...postgres, connections: 2 })).close();
    return openLocked(postgres.ownerUrl ?? postgres.url);
  }
  await (await openSqlite(databaseFile)).close();
  return openSqliteFile(databaseFile);
}

const openSqliteFile = async (file: string): Promise<MoveDatabase> =>
  (await import("../store/moving/sqlite-database.ts")).openSqliteDatabase(file);

async function openLocked(url: string): Promise<MoveDatabase> {
  const { openPostgresDatabase } = await import("../store/moving/postgres-database.ts");
  const side = await openPostgresDatabase(url);
  if (side === undefined)
    throw new ConfigError(
      `a control plane, or another move, uses the database ${placeOf(url)}: stop all of them first`,
    );
  return side;
}

/** The target's keys must open what is sealed, because that is moved unchanged. */
async function checkSource(
  source: MoveDatabase,
  from: ServerConfig,
  to: ServerConfig,
): Promise<void> {
  const facts = await readFacts(source);
  const unfinished = facts.get(moveMark);
  if (unfinished !== undefined)
    throw new ConfigError(
      `the data of ${unfinished} was not moved completely to ${databaseOf(from)}: it cannot be moved on`,
    );
  const key = to.secretKey ?? keptSecret(to, "WINDLASS_SECRET_KEY");
  const checks = facts.get(secretKeyChecks) ?? "[]";
  // After a change of the key, an older one may have been left there.
  const kept = keptSecret(from, "WINDLASS_SECRET_KEY");
  const place =
    kept !== undefined && opensStore([kept], checks)
      ? ` (its data directory has it: WINDLASS_SECRET_KEY_FILE=${secretFile(from)})`
      : "";
  const advice = `set it for the target to the key of the source${place}`;
  if (key === undefined)
    throw new ConfigError(`WINDLASS_SECRET_KEY is not set for the target: ${advice}`);
  if (!opensStore([key, ...to.olderSecretKeys], checks))
    throw new ConfigError(
      `WINDLASS_SECRET_KEY of the target is not the key that the data is encrypted with: ${advice}`,
    );
}

const secretFile = ({ dataDirectory }: ServerConfig): string =>
  join(dataDirectory, "secrets", "WINDLASS_SECRET_KEY");

const keptSecret = (config: ServerConfig, name: string): string | undefined =>
  findSecret(join(config.dataDirectory, "secrets"), name);

const jwtSecretOf = (config: ServerConfig): string | undefined =>
  config.jwtSecret ?? keptSecret(config, "CLI_JWT_SECRET");

/** The address of a database without user, password and options. */
function placeOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = hostname || (searchParams.get("host") ?? "localhost");
  return `postgres://${host}:${port || (searchParams.get("port") ?? "5432")}${pathname}`;
}

const databaseOf = ({ postgres, databaseFile }: ServerConfig): string =>
  postgres ? placeOf(postgres.url) : databaseFile;

const filesOf = ({ s3, artifactsDirectory }: ServerConfig): string =>
  s3 ? s3Address(s3) : artifactsDirectory;
