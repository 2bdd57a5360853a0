/** Brings a store's schema up to date, once, however many processes start together. */
import { sql, type Kysely } from "kysely";
import { SchemaError } from "./schema-error.ts";
import * as postgresBaseline from "./migrations/postgres/baseline.ts";
import * as start from "./migrations/0001-start.ts";
import * as planSummaries from "./migrations/0002-plan-summaries.ts";
import * as retention from "./migrations/0003-retention.ts";
import * as audit from "./migrations/0004-audit.ts";
import * as onlyAdded from "./migrations/0005-only-added.ts";
import * as shortLooks from "./migrations/0006-short-looks.ts";
import * as consoleIndexes from "./migrations/0007-console.ts";
import * as scale from "./migrations/0009-scale.ts";
import * as checkedSignIn from "./migrations/0010-checked-sign-in.ts";
import * as definitions from "./migrations/0011-definitions.ts";
import * as tokenOverlap from "./migrations/0013-token-overlap.ts";
import * as features from "./migrations/0014-features.ts";
import * as debugLogs from "./migrations/0015-debug-logs.ts";
import * as removals from "./migrations/0016-removals.ts";
import * as facts from "./migrations/0017-facts.ts";
import * as planAttributes from "./migrations/0018-plan-attributes.ts";
import * as logResources from "./migrations/0019-log-resources.ts";
import * as deployed from "./migrations/0020-deployed.ts";
import * as planOptions from "./migrations/0021-plan-options.ts";
import * as overview from "./migrations/0022-overview.ts";
import * as recount from "./migrations/0023-recount.ts";
import * as history from "./migrations/0024-history.ts";
import * as variableSets from "./migrations/0025-variable-sets.ts";
import * as registrationTokens from "./migrations/0026-registration-tokens.ts";
import * as logArchives from "./migrations/0027-log-archives.ts";
import * as accessTokens from "./migrations/0028-access-tokens.ts";
import * as failedJob from "./migrations/0029-failed-job.ts";
import * as teams from "./migrations/0030-teams.ts";
import * as schemaCompatibility from "./migrations/0031-schema-compatibility.ts";
import * as quickClaims from "./migrations/0032-quick-claims.ts";
import * as approvals from "./migrations/0033-approvals.ts";
import * as rowSecurity from "./migrations/0034-row-security.ts";
import * as claimIndexes from "./migrations/0035-claim-indexes.ts";
import * as quickTriggers from "./migrations/0036-quick-triggers.ts";
import * as omittedOutputs from "./migrations/0037-omitted-outputs.ts";
import * as outputsLeftOut from "./migrations/0038-outputs-left-out.ts";
import * as whoActed from "./migrations/0039-who-acted.ts";
import * as unknownResources from "./migrations/0040-unknown-resources.ts";
import * as workerArchives from "./migrations/0041-worker-archives.ts";
import * as admission from "./migrations/0042-admission.ts";
import * as definitionVersions from "./migrations/0043-definition-versions.ts";
import * as identityUsed from "./migrations/0044-identity-used.ts";
import * as largeDefinitions from "./migrations/0045-large-definitions.ts";

interface Migration {
  up(db: Kysely<unknown>): Promise<void>;
  /** The same for PostgreSQL; of migrations that its baseline does not contain. */
  readonly upPostgres?: (db: Kysely<unknown>) => Promise<void>;
  /**
   * Whether a server of the release before can use the schema after it: it adds tables, indexes that
   * are not unique, or columns that are nullable or have a default, and nothing else.
   */
  readonly isAdditive?: boolean;
}

/** In order; the schema's version is how many of them have run. */
export const migrations: readonly Migration[] = [
  start,
  planSummaries,
  retention,
  audit,
  onlyAdded,
  shortLooks,
  consoleIndexes,
  scale,
  checkedSignIn,
  definitions,
  tokenOverlap,
  features,
  removals,
  facts,
  debugLogs,
  planAttributes,
  logResources,
  deployed,
  planOptions,
  overview,
  recount,
  history,
  variableSets,
  registrationTokens,
  logArchives,
  accessTokens,
  failedJob,
  teams,
  schemaCompatibility,
  quickClaims,
  approvals,
  rowSecurity,
  claimIndexes,
  quickTriggers,
  omittedOutputs,
  outputsLeftOut,
  whoActed,
  unknownResources,
  workerArchives,
  admission,
  definitionVersions,
  identityUsed,
  largeDefinitions,
];

export interface SchemaTransaction {
  begin(): void;
  commit(): void;
  rollback(): void;
}

/** The newest schema that this version knows. */
export const knownSchema = migrations.length;

/** What a store says of its schema. */
export interface StoredSchema {
  readonly version: number;
  /** The oldest schema whose servers can use it; null in a store of an earlier release. */
  readonly compatible_since: number | null;
}

/**
 * The oldest schema whose servers can use this version's: all migrations after it are additive.
 */
export const compatibleSince =
  migrations.findLastIndex(({ isAdditive }) => isAdditive !== true) + 1;

/** Throws when a store has a newer schema that servers of this version cannot use. */
export function checkSchema({ version, compatible_since }: StoredSchema): void {
  if (version > knownSchema && (compatible_since ?? version) > knownSchema)
    throw new SchemaError(
      `the data was written by a newer Windlass (schema ${version}, this one knows ${knownSchema}); start that version`,
    );
}

/**
 * Throws unless this version can use a store without migrating it, for what works beside a running
 * server.
 */
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
    for (const migration of migrations.slice(schema.version))
      await migration.up(db as Kysely<unknown>);
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
  /** Whether servers run on the database. */
  isUsed(): Promise<boolean>;
}

/**
 * The same for PostgreSQL. A new database gets the baseline at once. One that is up to date is only
 * read, so a role that may change no table can start the server. Running servers continue to work
 * if the missing migrations are additive; throws `SchemaError` if they would not.
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
    if (version === 0) {
      await postgresBaseline.up(db as Kysely<unknown>);
      await sql`create table schema_version (version integer not null)`.execute(db);
    }
    for (const migration of migrations.slice(version || postgresBaseline.version))
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
