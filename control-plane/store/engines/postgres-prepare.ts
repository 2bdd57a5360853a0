/** What happens to a PostgreSQL database before it is used: checks, migrations, rights. */
import pg from "pg";
import { migratePostgres } from "../migrate.ts";
import { showAll } from "../migrations/postgres/row-security.ts";
import { countControlPlanes } from "./postgres-channel.ts";
import { inSpaces } from "../spaces.ts";
import { connectionOf, PostgresQueries } from "./postgres-connection.ts";
import { changesLock, isConflict } from "./postgres-locks.ts";

/** The key of the advisory lock of migrations: arbitrary, and never changed. */
const schemaLock = 1_464_816_898;

const oldestVersion = 15;

const migrationAttempts = 5;

/** With an owner's address, the role of `client` gets no more rights than a server needs. */
export async function prepareDatabase(
  client: pg.ClientBase,
  ownerUrl: string | undefined,
): Promise<void> {
  await checkServer(new PostgresQueries(client));
  const { rows } = await client.query<{ role: string }>("select current_user as role");
  const { role } = rows[0]!;
  if (ownerUrl === undefined) {
    await migrate(client);
    return grant(client, role);
  }
  const owner = new pg.Client(connectionOf(ownerUrl));
  // A broken connection fails its query.
  owner.on("error", () => undefined);
  await owner.connect();
  try {
    await migrate(owner);
    await grant(owner, role);
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

/** The role in which a server with this role runs the queries of people. */
const peopleRoleOf = (role: string): string => `${role}_people`;

/**
 * Lets the role of a server, and its role for people, read and change rows, but no table, no entry
 * of the audit log and no version. The first sees all rows. Does nothing without the rights of the
 * owner.
 */
async function grant(owner: pg.ClientBase, role: string): Promise<void> {
  await run(owner, begin);
  try {
    const { rows } = await owner.query<{ schema: string }>(
      `select relnamespace::regnamespace::text as schema from pg_class
        where oid = 'schema_version'::regclass and pg_has_role(relowner, 'USAGE')`,
    );
    for (const { schema } of rows) {
      for (const name of [role, peopleRoleOf(role)]) await grantRows(owner, schema, name);
      await showAllRows(owner, schema, role);
    }
    await run(owner, "commit");
  } catch (error) {
    await run(owner, "rollback");
    throw error;
  }
}

/** Does nothing if there is no such role, if it is the owner, or if it has the rights. */
async function grantRows(owner: pg.ClientBase, schema: string, role: string): Promise<void> {
  const { rows } = await owner.query(
    `select from pg_class, pg_roles where relnamespace = $1::regnamespace and relkind = 'r'
      and rolname = $2 and rolname <> current_user
      and not has_table_privilege(pg_roles.oid, pg_class.oid, 'select') limit 1`,
    [schema, role],
  );
  const to = pg.escapeIdentifier(role);
  if (rows.length > 0)
    await run(
      owner,
      `grant usage on schema ${schema} to ${to};
      grant select, insert, update, delete on all tables in schema ${schema} to ${to};
      revoke update, delete on ${schema}.audit_entries from ${to};
      revoke insert, update, delete on ${schema}.schema_version from ${to}`,
    );
}

/** Row security does not apply to the owner of a table. */
async function showAllRows(owner: pg.ClientBase, schema: string, role: string): Promise<void> {
  const { rows } = await owner.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relnamespace = $1::regnamespace
      and relrowsecurity and $2 <> current_user
      and not exists (select from pg_policy where polrelid = pg_class.oid and polname = $2)`,
    [schema, role],
  );
  for (const { name } of rows) await run(owner, showAll(name, pg.escapeIdentifier(role)));
}

/** Undefined if there is none to which row security applies. */
export async function findPeopleRole(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ role: string }>("select current_user as role");
  const role = peopleRoleOf(rows[0]!.role);
  const queries = new PostgresQueries(client, { people: { role } });
  try {
    const asked = inSpaces([], () =>
      queries.query({ text: "select row_security_active('jobs') as is_active" }),
    );
    const { is_active } = (await asked).rows[0] as { is_active: number };
    return is_active === 1 ? role : undefined;
  } catch (error) {
    const { cause = error } = error as Error;
    // There is no such role, or the connection's is no member of it.
    if (/^(22023|42501)$/.test((cause as { code?: string }).code ?? "")) return undefined;
    throw error;
  }
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
