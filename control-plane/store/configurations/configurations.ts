import { sql } from "kysely";
import type { ConfigurationStatus } from "../../../protocol/configurations.ts";
import type { Queries } from "../db.ts";
import { definitionBytes } from "../definitions/definitions.ts";
import { specsBy } from "../indexed.ts";
import { isSeen } from "../spaces.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type SpecRow = Row<"specs">;
export type ComponentRow = Row<"components">;

export async function insertSpec(tx: Queries, spec: SpecRow): Promise<void> {
  await tx.sql.insertInto("specs").values(spec).execute();
}

/** Saves what a person may change of a spec, as its next version. */
export async function saveSpec(tx: Queries, spec: SpecRow): Promise<void> {
  const { id, zone_id, cloud_identity_id, name, project_name, labels, updated_at } = spec;
  const { definition, definition_id } = spec;
  const { approval_when, approval_count, approval_by_author } = spec;
  await tx.sql
    .updateTable("specs")
    .set({ zone_id, cloud_identity_id, name, project_name, labels, updated_at })
    .set({ definition, definition_id })
    .set((set) => ({ version: set("version", "+", 1) }))
    .set({ approval_when, approval_count, approval_by_author })
    .where("id", "=", id)
    .execute();
}

export const findSpec = statement<{ id: string; owner: string }, SpecRow>((db, { id, owner }) =>
  db.selectFrom("specs").selectAll().where("id", "=", id).where("owner_id", "=", owner),
);

/** A spec without its definition, and how long that is. */
export const findSpecBriefly = statement<
  { id: string; owner: string },
  Pick<SpecRow, "id" | "zone_id" | "name"> & { readonly bytes: number }
>((db, { id, owner }) =>
  db
    .selectFrom("specs")
    .select(["id", "zone_id", "name", definitionBytes("specs").as("bytes")])
    .where("id", "=", id)
    .where("owner_id", "=", owner),
);

export const findSpecByName = statement<{ name: string; owner: string }, SpecRow>(
  (db, { name, owner }) =>
    db.selectFrom("specs").selectAll().where("name", "=", name).where("owner_id", "=", owner),
);

export const findSpecByProjectName = statement<{ name: string; owner: string }, SpecRow>(
  (db, { name, owner }) =>
    db
      .selectFrom("specs")
      .selectAll()
      .where("project_name", "=", name)
      .where("owner_id", "=", owner),
);

/** Of those of an owner among some ids, as JSON. */
export const findZonesOfSpecs = statement<{ owner: string; specs: string }, { zone_id: string }>(
  (db, { owner, specs }) =>
    db
      .selectFrom("specs")
      .select("zone_id")
      .distinct()
      .where("owner_id", "=", owner)
      .where("id", "in", sql<string>`(select value from json_each(${specs}))`),
);

/** Those of some specs of an owner that the caller sees. */
export async function filterSeenSpecs(
  { sql: db }: Queries,
  owner: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom("specs")
    .select("id")
    .where("owner_id", "=", owner)
    .where("id", "in", sql<string>`(select value from json_each(${JSON.stringify(ids)}))`)
    .where(isSeen(owner, "zone_id", "id"))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

export async function listSpecIds(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  let query = db
    .selectFrom(specsBy("specs_owner"))
    .select("id")
    .where("owner_id", "=", owner)
    .where(isSeen(owner, "zone_id", "id"));
  if (before !== undefined) query = query.where("id", "<", before);
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map(({ id }) => id);
}

export type SpecName = Pick<SpecRow, "id" | "name">;

/** Names of an owner's specs, in their order; with `id` of that one alone. */
export function listSpecNames(
  { sql: db }: Queries,
  owner: string,
  { id, limit }: { readonly id?: string; readonly limit: number },
): Promise<SpecName[]> {
  let query = db
    .selectFrom("specs")
    .select(["id", "name"])
    .where("owner_id", "=", owner)
    .where(isSeen(owner, "zone_id", "id"));
  if (id !== undefined) query = query.where("id", "=", id);
  return query.orderBy("name").limit(limit).execute();
}

/** Those that the caller sees. */
export async function listSpecIdsOfZone(
  { sql: db }: Queries,
  { owner, zone }: { readonly owner: string; readonly zone: string },
  before: string | undefined,
  limit: number,
): Promise<string[]> {
  let query = db
    .selectFrom(specsBy("specs_zone"))
    .select("id")
    .where("zone_id", "=", zone)
    .where(isSeen(owner, "zone_id", "id"));
  if (before !== undefined) query = query.where("id", "<", before);
  const rows = await query.orderBy("id", "desc").limit(limit).execute();
  return rows.map(({ id }) => id);
}

/** Any one, also one that the caller does not see. */
export const findSpecOfZone = statement<{ zone: string }, { id: string }>((db, { zone }) =>
  db.selectFrom(specsBy("specs_zone")).select("id").where("zone_id", "=", zone).limit(1),
);

export const findComponents = statement<{ spec: string }, ComponentRow>((db, { spec }) =>
  db.selectFrom("components").selectAll().where("spec_id", "=", spec).orderBy("name"),
);

export const findLiveSpec = statement<{ id: string }, { id: string }>((db, { id }) =>
  db.selectFrom("specs").select("id").where("id", "=", id).where("deleted_owner_id", "is", null),
);

export const findSpecStatus = statement<
  { id: string },
  Pick<SpecRow, "status" | "deployed_backend" | "failed_job_id">
>((db, { id }) =>
  db
    .selectFrom("specs")
    .select(["status", "deployed_backend", "failed_job_id"])
    .where("id", "=", id),
);

/** Changes the status of a spec, and keeps the message of the failure before. */
export const moveSpec = statement<{ id: string; status: ConfigurationStatus }>(
  (db, { id, status }) => db.updateTable("specs").set({ status }).where("id", "=", id),
);

/** Changes the status of a spec; the message and the job are those of its failure, else null. */
export const setSpecStatus = statement<{
  id: string;
  status: ConfigurationStatus;
  error_message: string | null;
  failed_job_id: string | null;
}>((db, { id, status, error_message, failed_job_id }) =>
  db.updateTable("specs").set({ status, error_message, failed_job_id }).where("id", "=", id),
);

export const findDefined = statement<
  { id: string },
  Pick<SpecRow, "name" | "definition" | "version">
>((db, { id }) =>
  db.selectFrom("specs").select(["name", "definition", "version"]).where("id", "=", id),
);

export async function changeDefinition(
  { sql: db }: Queries,
  id: string,
  written: Pick<SpecRow, "definition" | "definition_id">,
  now: number,
): Promise<void> {
  await db
    .updateTable("specs")
    .set((set) => ({ ...written, updated_at: now, version: set("version", "+", 1) }))
    .where("id", "=", id)
    .execute();
}

/** Notes where the last DEPLOY of a spec kept its state; null after a DESTROY. */
export const setDeployedBackend = statement<{ id: string; backend: "managed" | "own" | null }>(
  (db, { id, backend }) =>
    db.updateTable("specs").set({ deployed_backend: backend }).where("id", "=", id),
);

/** Three named values, a component per output, and how many outputs have none. */
export async function replaceOutputs(
  tx: Queries,
  spec: string,
  known: Pick<
    SpecRow,
    "cluster_name" | "cluster_endpoint" | "gitops_url" | "outputs_omitted" | "failed_checks"
  >,
  components: readonly Omit<ComponentRow, "spec_id">[],
): Promise<void> {
  await tx.sql.updateTable("specs").set(known).where("id", "=", spec).execute();
  await tx.sql.deleteFrom("components").where("spec_id", "=", spec).execute();
  // In slices: an engine binds a limited number of values.
  for (let from = 0; from < components.length; from += 500)
    await tx.sql
      .insertInto("components")
      .values(
        components.slice(from, from + 500).map((component) => ({ spec_id: spec, ...component })),
      )
      .execute();
}
