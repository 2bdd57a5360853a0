/** The audit log is kept as it was written, and no device login's code is kept at all. */
import { sql, type Kysely } from "kysely";

/** Adds the triggers, drops the column. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const statements = [
  // Even a wrong statement of our own changes no entry.
  `create trigger audit_entries_kept before delete on audit_entries begin select raise(abort, 'audit entries are only added'); end`,
  `create trigger audit_entries_unchanged before update on audit_entries begin select raise(abort, 'audit entries are only added'); end`,
  // A code that an older release showed is not the derived one: its client is told to begin again,
  // not that the code is wrong.
  `update cli_logins set expires_at = created_at where used_at is null and verification_code <> ''`,
  `alter table cli_logins drop column verification_code`,
];
