/** What happens to a PostgreSQL database before it is used: checks, migrations, rights. */
import pg from "pg";
import { migratePostgres } from "../migrate.ts";
import { countControlPlanes } from "./postgres-channel.ts";
import { connectionOf, PostgresQueries } from "./postgres-connection.ts";
import { changesLock, isConflict } from "./postgres-locks.ts";

/** The key of the advisory lock of migrations: arbitrary, and never changed. */
const schemaLock = 1_464_816_898;

const oldestVersion = 15;

const migrationAttempts = 5;

/**
 * Creates or migrates the tables. With the address of an owner, its role does that, and the role of
 * `client` gets no more rights than a server needs.
 */
export async function prepareDatabase(
  client: pg.ClientBase,
  ownerUrl: string | undefined,
): Promise<void> {
  const queries = new PostgresQueries(client);
  await checkServer(queries);
  if (ownerUrl === undefined) return migrate(client);
  const { rows } = await client.query<{ role: string }>("select current_user as role");
  const owner = new pg.Client(connectionOf(ownerUrl));
  // A broken connection fails its query.
  owner.on("error", () => undefined);
  await owner.connect();
  try {
    await migrate(owner);
    await grant(owner, rows[0]!.role);
  } finally {
    await owner.end();
  }
}

/** However long another process migrates, and this one then does. */
const begin = `begin; set local statement_timeout = 0; set local lock_timeout = 0;
  select pg_advisory_xact_lock(${schemaLock})`;

/**
 * Servers of an older release may work meanwhile. Their changes wait: each locks several tables, as
 * this does. One that only reads may still lock two of them in another order.
 */
async function migrate(client: pg.ClientBase): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await migratePostgres(new PostgresQueries(client).sql, {
        begin: () => run(client, `${begin}; select pg_advisory_xact_lock(${changesLock})`),
        commit: () => run(client, "commit"),
        rollback: () => run(client, "rollback"),
        isUsed: async () => (await countControlPlanes(client)) > 0,
      });
    } catch (error) {
      if (attempt === migrationAttempts || !isConflict(error)) throw error;
    }
  }
}

/** Lets a role read and change rows, but no table, no entry of the audit log and no version. */
async function grant(owner: pg.ClientBase, role: string): Promise<void> {
  const { rows } = await owner.query<{ schema: string; role: string }>(
    "select current_schema() as schema, current_user as role",
  );
  if (rows[0]!.role === role) return;
  const to = pg.escapeIdentifier(role);
  const schema = pg.escapeIdentifier(rows[0]!.schema);
  await run(
    owner,
    `${begin};
    grant usage on schema ${schema} to ${to};
    grant select, insert, update, delete on all tables in schema ${schema} to ${to};
    revoke update, delete on ${schema}.audit_entries from ${to};
    revoke insert, update, delete on ${schema}.schema_version from ${to};
    commit`,
  );
}

const run = async (client: pg.ClientBase, text: string): Promise<void> =>
  void (await client.query(text));

async function checkServer(queries: PostgresQueries): Promise<void> {
  const show = async (name: string): Promise<string> => {
    const { rows } = await queries.query({ text: `select current_setting('${name}') as value` });
    return (rows[0] as { value: string }).value;
  };
  const version = Number(await show("server_version_num"));
  if (version < oldestVersion * 10_000)
    throw new Error(
      `the database server is PostgreSQL ${await show("server_version")}; Windlass needs PostgreSQL ${oldestVersion} or newer`,
    );
  const encoding = await show("server_encoding");
  if (encoding !== "UTF8")
    throw new Error(`the database has the encoding ${encoding}; create one with the encoding UTF8`);
}
