import type { Queries } from "../db.ts";
import { workersBy, zonesBy } from "../indexed.ts";
import { statement, type Statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type TeamRow = Row<"teams">;

export type TeamOfMember = TeamRow & Pick<Row<"memberships">, "role">;

export const findTeamBySlug = statement<{ slug: string }, TeamRow>((db, { slug }) =>
  db.selectFrom("teams").selectAll().where("slug", "=", slug),
);

export const findTeam = statement<{ id: string }, TeamRow>((db, { id }) =>
  db.selectFrom("teams").selectAll().where("id", "=", id),
);

export function listTeamsOf(
  { sql }: Queries,
  user: string,
  before: string | undefined,
  limit: number,
): Promise<TeamOfMember[]> {
  let query = sql
    .selectFrom("memberships")
    .innerJoin("teams", "teams.id", "memberships.space_id")
    .selectAll("teams")
    .select("memberships.role")
    .where("memberships.user_id", "=", user);
  if (before !== undefined) query = query.where("memberships.space_id", "<", before);
  return query.orderBy("memberships.space_id", "desc").limit(limit).execute();
}

export const listTeamsWithoutAdmin = statement<{ limit: number }, { slug: string }>(
  (db, { limit }) =>
    db
      .selectFrom("teams")
      .select("slug")
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom("memberships")
              .select("user_id")
              .whereRef("memberships.space_id", "=", "teams.id")
              .where("role", "=", "admin"),
          ),
        ),
      )
      .orderBy("slug")
      .limit(limit),
);

export async function insertTeam({ sql }: Queries, team: TeamRow): Promise<void> {
  await sql.insertInto("spaces").values({ id: team.id }).execute();
  await sql.insertInto("teams").values(team).execute();
}

export async function saveTeam(
  { sql }: Queries,
  { id, ...change }: Pick<TeamRow, "id" | "name" | "slug">,
): Promise<void> {
  await sql.updateTable("teams").set(change).where("id", "=", id).execute();
}

export const findZoneOf = statement<{ owner: string }, { id: string }>((db, { owner }) =>
  db.selectFrom(zonesBy("zones_owner")).select("id").where("owner_id", "=", owner).limit(1),
);

export const findWorkerOf = statement<{ owner: string }, { id: string }>((db, { owner }) =>
  db.selectFrom(workersBy("workers_owner")).select("id").where("owner_id", "=", owner).limit(1),
);

/** Its space stays: ended jobs and the audit log belong to it. */
export async function deleteTeam({ sql }: Queries, id: string): Promise<void> {
  for (const table of [
    "access_tokens",
    "registration_tokens",
    "variable_sets",
    "cloud_identities",
    "connections",
    "events",
    "notification_rules",
    "schedules",
  ] as const)
    await sql.deleteFrom(table).where("owner_id", "=", id).execute();
  await sql.deleteFrom("teams").where("id", "=", id).execute();
}

const ownedTables = [
  "zones",
  "specs",
  "jobs",
  "workers",
  "variable_sets",
  "cloud_identities",
  "connections",
  "pull_requests",
  "schedules",
  "access_tokens",
  "notification_rules",
] as const;

/** The tables whose rows belong to a space and are named by id in requests. */
export type OwnedTable = (typeof ownedTables)[number];

const findOwner = (table: OwnedTable): Statement<{ id: string }, { owner_id: string | null }> =>
  statement((db, { id }) => db.selectFrom(table).select("owner_id").where("id", "=", id));

/** The space of a row; null of a cloud-hosted worker, which has none. */
export const findOwnerOf = Object.fromEntries(
  ownedTables.map((table) => [table, findOwner(table)]),
) as Readonly<Record<OwnedTable, ReturnType<typeof findOwner>>>;
