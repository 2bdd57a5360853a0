/** SQL of removing what expired: links, logins, device logins, registration tokens. */
import type { Queries } from "../db.ts";

/** Deletes what expired before this moment; nothing that works can be among it. */
export async function deleteExpired({ sql: db }: Queries, before: number): Promise<void> {
  for (const table of ["login_links", "logins", "cli_logins", "registration_tokens"] as const)
    await db.deleteFrom(table).where("expires_at", "<", before).execute();
}
