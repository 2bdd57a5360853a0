import { sql, type RawBuilder } from "kysely";
import type { Queries } from "../db.ts";
import { workersBy, zonesBy } from "../indexed.ts";
import { statement, type Statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type TeamRow = Row<"teams">;

export type TeamOfMember = TeamRow & Pick<Row<"memberships">, "role" | "zones">;

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
    .select(["memberships.role", "memberships.zones"])
    .where("memberships.user_id", "=", user);
  if (before !== undefined) query = query.where("memberships.space_id", "<", before);
  return query.orderBy("memberships.space_id", "desc").limit(limit).execute();
}

/** Those of which no one is an admin, or only people who are blocked. */
export const listTeamsWithoutAdmin = statement<{ limit: number }, { slug: string }>(
  (db, { limit }) =>
    db
      .selectFrom("teams")
      .select("slug")
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom("memberships")
              .innerJoin("users", "users.id", "memberships.user_id")
              .select("user_id")
              .whereRef("memberships.space_id", "=", "teams.id")
              .where("blocked_at", "is", null)
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

export interface FoundPlace {
  /** Null of a cloud-hosted worker, which has no space. */
  readonly owner_id: string | null;
  readonly zone_id: string | null;
  readonly configuration_id: string | null;
}

const findPlace = (table: OwnedTable): Statement<{ id: string }, FoundPlace> =>
  statement((db, { id }) => {
    const zone = { zones: sql`id`, specs: sql`zone_id`, jobs: ofJob, schedules: ofSchedule };
    const spec = { specs: sql`id`, jobs: sql`spec_id`, schedules: sql`spec_id` };
    const column = (of: Partial<Record<OwnedTable, RawBuilder<unknown>>>) =>
      sql<string | null>`${of[table] ?? sql`null`}`;
    return db
      .selectFrom(table)
      .select(["owner_id", column(zone).as("zone_id"), column(spec).as("configuration_id")])
      .where("id", "=", id);
  });

/** Where the configuration is now; null: it was deleted, or the job tears down a worker. */
const ofJob = sql`(select specs.zone_id from specs where specs.id = jobs.spec_id
  and specs.deleted_owner_id is null and jobs.job_type <> 'DESTROY_WORKER')`;
const ofSchedule = sql`coalesce(schedules.zone_id, (select specs.zone_id from specs where specs.id = schedules.spec_id))`;

/** Where a row is that a request names. */
export const findPlaceOf = Object.fromEntries(
  ownedTables.map((table) => [table, findPlace(table)]),
) as Readonly<Record<OwnedTable, ReturnType<typeof findPlace>>>;
