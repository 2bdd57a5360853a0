import { sql } from "kysely";
import type { OpenJob } from "../../domain/open-job.ts";
import type { Queries } from "../db.ts";
import { cloudIdentitiesBy, jobsBy } from "../indexed.ts";
import { isSeen } from "../spaces.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type CloudIdentityRow = Row<"cloud_identities">;

export const findCloudIdentity = statement<{ id: string; owner: string }, CloudIdentityRow>(
  (db, { id, owner }) =>
    db
      .selectFrom("cloud_identities")
      .selectAll()
      .where("id", "=", id)
      .where("owner_id", "=", owner),
);

export const findCloudIdentityByName = statement<{ name: string; owner: string }, CloudIdentityRow>(
  (db, { name, owner }) =>
    db
      .selectFrom("cloud_identities")
      .selectAll()
      .where("name", "=", name)
      .where("owner_id", "=", owner),
);

export function listCloudIdentities(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<CloudIdentityRow[]> {
  let query = db
    .selectFrom(cloudIdentitiesBy("cloud_identities_owner"))
    .selectAll()
    .where("owner_id", "=", owner);
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}

/** Those that configurations use which the caller sees. */
export const listSeenIdentities = (
  { sql: db }: Queries,
  owner: string,
  limit: number,
): Promise<Pick<CloudIdentityRow, "id" | "name">[]> =>
  db
    .selectFrom("cloud_identities")
    .innerJoin("specs", "specs.cloud_identity_id", "cloud_identities.id")
    .select(["cloud_identities.id", "cloud_identities.name"])
    .distinct()
    .where("specs.owner_id", "=", owner)
    .where(isSeen(owner, "specs.zone_id", "specs.id"))
    .orderBy("cloud_identities.name")
    .limit(limit)
    .execute();

export async function insertCloudIdentity(tx: Queries, row: CloudIdentityRow): Promise<void> {
  await tx.sql.insertInto("cloud_identities").values(row).execute();
}

export async function saveCloudIdentity(
  tx: Queries,
  { id, name, role_arn, plan_role_arn, settings, updated_at }: CloudIdentityRow,
): Promise<void> {
  await tx.sql
    .updateTable("cloud_identities")
    .set({ name, role_arn, plan_role_arn, settings, updated_at })
    .where("id", "=", id)
    .execute();
}

/** Deletes it; nothing may name it any more. */
export async function deleteCloudIdentity(tx: Queries, id: string): Promise<void> {
  await tx.sql.deleteFrom("cloud_identities").where("id", "=", id).execute();
}

/** A job that uses the identity and has not ended, or that a runner may still work on. */
export const findJobOfIdentity = statement<{ identity: string; owner: string }, OpenJob>(
  (db, { identity, owner }) => {
    const configuration = sql<
      string | null
    >`(select name from specs where specs.id = jobs.spec_id)`.as("configuration");
    return db
      .selectFrom(jobsBy("jobs_queued"))
      .select(["id", "job_type", "status", configuration])
      .where("owner_id", "=", owner)
      .where("cloud_identity_id", "=", identity)
      .where("status", "=", sql.lit("QUEUED" as const))
      .unionAll(
        db
          .selectFrom(jobsBy("jobs_held"))
          .select(["id", "job_type", "status", configuration])
          .where("owner_id", "=", owner)
          .where("cloud_identity_id", "=", identity)
          .where("worker_id", "is not", null)
          .where("released_at", "is", null),
      )
      .limit(1);
  },
);

/** The identity of a job that is claimed, JSON: `UsedIdentity`. The job keeps it as `identity_used`. */
export const claimedIdentity = sql<string | null>`(
  select case when settings is not null
    then cast(json_object('provider', provider, 'role_arn', role_arn, 'external_id', external_id, 'plan_role_arn', plan_role_arn, 'settings', settings) as text)
    when jobs.job_type = 'PLAN' and plan_role_arn is not null
    then cast(json_object('provider', provider, 'role_arn', role_arn, 'external_id', external_id, 'plan_role_arn', plan_role_arn) as text)
    else cast(json_object('provider', provider, 'role_arn', role_arn, 'external_id', external_id) as text) end
  from cloud_identities where cloud_identities.id = jobs.cloud_identity_id)`;

/** The principal of every PLAN, and of which provider the identity is. */
export const findPlanRole = statement<
  { id: string },
  Pick<CloudIdentityRow, "plan_role_arn" | "provider">
>((db, { id }) =>
  db.selectFrom("cloud_identities").select(["plan_role_arn", "provider"]).where("id", "=", id),
);

/** What a job of this identity is given now, apart from the principal of PLANs. */
export const findUsedIdentity = statement<
  { id: string },
  Pick<CloudIdentityRow, "provider" | "role_arn" | "external_id" | "settings">
>((db, { id }) =>
  db
    .selectFrom("cloud_identities")
    .select(["provider", "role_arn", "external_id", "settings"])
    .where("id", "=", id),
);
