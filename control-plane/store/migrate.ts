/** Brings a store's schema up to date, once, however many processes start together. */
import { sql, type Kysely } from "kysely";
import { SchemaError } from "./schema-error.ts";
import * as release010 from "./migrations/release-0.1.0.ts";
import * as release020 from "./migrations/release-0.2.0.ts";

interface Migration {
  readonly version: number;
  up(db: Kysely<unknown>): Promise<void>;
  /** In place of `up` on PostgreSQL. */
  readonly upPostgres?: (db: Kysely<unknown>) => Promise<void>;
  /**
   * Whether a server of the release before can use the schema after it: it adds tables, indexes that
   * are not unique, or columns that are nullable or have a default, and nothing else.
   */
  readonly isAdditive?: boolean;
}

/** In order; one for each release that changes the schema. */
const migrations: readonly Migration[] = [release010, release020];

export interface SchemaTransaction {
  begin(): void;
  commit(): void;
  rollback(): void;
}

export const knownSchema = migrations.at(-1)!.version;

export interface StoredSchema {
  readonly version: number;
  /** The oldest schema whose servers can use it; null in a store of 0.1.0. */
  readonly compatible_since: number | null;
}

/** The oldest schema whose servers can use this one. */
const compatibleSince = migrations.findLast(({ isAdditive }) => isAdditive !== true)!.version;

/** Throws if this version can neither use nor migrate a store with this schema. */
export function checkSchema({ version, compatible_since }: StoredSchema): void {
  if (version > knownSchema && (compatible_since ?? version) > knownSchema)
    throw new SchemaError(
      `the data was written by a newer Windlass (schema ${version}, this one knows ${knownSchema}); start that version`,
    );
  const released = migrations.map((migration) => migration.version);
  if (version > 0 && version < knownSchema && !released.includes(version))
    throw new SchemaError(
      `the data was written by a Windlass that was never released (schema ${version}), and this version can use only that of releases (schema ${released.join(" or ")}); start the version that wrote it, or use other data`,
    );
}

const missingFrom = (version: number): readonly Migration[] =>
  migrations.filter((migration) => migration.version > version);

/** For what works beside a running server and must not migrate its store. */
export function requireSchema(schema: StoredSchema): void {
  checkSchema(schema);
  if (schema.version < knownSchema)
    throw new SchemaError(
      `the data was written by an older Windlass (schema ${schema.version}, this one needs ${knownSchema}), which may be running; use the command of that version, or start this version's server first`,
    );
}

/**
 * Runs the migrations that are missing in one transaction. `begin` must take the write lock at
 * once, so that of two processes the second waits and then finds nothing to do. Kysely's own
 * migrator takes no lock on SQLite (docs/decisions.md, "Migrations").
 */
export async function migrate<T>(db: Kysely<T>, transaction: SchemaTransaction): Promise<void> {
  transaction.begin();
  try {
    await sql`create table if not exists schema_version (version integer not null)`.execute(db);
    const schema = await readSchema(db);
    checkSchema(schema);
    for (const migration of missingFrom(schema.version)) await migration.up(db as Kysely<unknown>);
    await saveSchema(db, schema.version);
    transaction.commit();
  } catch (error) {
    transaction.rollback();
    throw error;
  }
}

export interface SharedSchemaTransaction {
  /** Begins, and waits until no other process migrates. */
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  isUsed(): Promise<boolean>;
}

/**
 * Migrates PostgreSQL. A database that is up to date is only read, so a role that may change no
 * table can start the server. Running servers continue to work if the missing migrations are
 * additive; throws `SchemaError` if they would not.
 */
export async function migratePostgres<T>(
  db: Kysely<T>,
  transaction: SharedSchemaTransaction,
): Promise<void> {
  const found = await readPostgresSchema(db);
  checkSchema(found);
  if (found.version >= knownSchema) return;
  await transaction.begin();
  try {
    const schema = await readPostgresSchema(db);
    const { version } = schema;
    checkSchema(schema);
    if (version > 0 && version < compatibleSince && (await transaction.isUsed()))
      throw new SchemaError(
        `servers of an older Windlass run on this database (schema ${version}) and cannot use the schema of this version (${knownSchema}, for servers that know ${compatibleSince} or newer): stop all of them, then start this version`,
      );
    for (const migration of missingFrom(version))
      await migration.upPostgres?.(db as Kysely<unknown>);
    await saveSchema(db, version);
    await transaction.commit();
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}

async function readPostgresSchema<T>(db: Kysely<T>): Promise<StoredSchema> {
  const { rows } = await sql<{ is_there: number }>`
    select to_regclass('schema_version') is not null as is_there`.execute(db);
  return rows[0]?.is_there === 1 ? readSchema(db) : neverMigrated;
}

const neverMigrated: StoredSchema = { version: 0, compatible_since: null };

/** The schema of a store; version 0 for one that was never migrated. */
export async function readSchema<T>(db: Kysely<T>): Promise<StoredSchema> {
  const { rows } = await sql<StoredSchema>`select * from schema_version`.execute(db);
  return rows[0] ?? neverMigrated;
}

/** Without these conditions every start would write, and would fail on a full disk. */
async function saveSchema<T>(db: Kysely<T>, before: number): Promise<void> {
  const saved =
    before === 0
      ? sql`insert into schema_version (version, compatible_since) values (${knownSchema}, ${compatibleSince})`
      : sql`update schema_version set version = ${knownSchema}, compatible_since = ${compatibleSince}`;
  if (before < knownSchema) await saved.execute(db);
}
