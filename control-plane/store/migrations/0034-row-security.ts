/** Row security on PostgreSQL. SQLite has none. */
import { sql, type Kysely } from "kysely";
import { rowSecurity } from "./postgres/row-security.ts";

/** Changes nothing on SQLite. */
export const up = (): Promise<void> => Promise.resolve();

/** Adds the policies, with those of the roles in which servers run already. */
export async function upPostgres(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string; server: string | null }>`
    select quote_ident(current_schema()) as schema, grantee::regrole::text as server
      from pg_class left join aclexplode(relacl) on grantee <> relowner and privilege_type = 'SELECT'
      where oid = 'jobs'::regclass`.execute(db);
  const servers = rows.flatMap(({ server }) => server ?? []);
  for (const statement of rowSecurity(rows[0]!.schema, servers))
    await sql.raw(statement).execute(db);
}

/** Servers of the release before see what they saw. */
export const isAdditive = true;
