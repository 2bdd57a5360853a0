/** Configurations may be large, so a zone's JSON is written configuration by configuration. */
import { v7 as uuid } from "uuid";
import type {
  Configuration,
  CreateZone,
  UpdateZone,
  Zone,
} from "../../../protocol/configurations.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { findSpecOfZone, listSpecIdsOfZone } from "../../store/configurations/configurations.ts";
import {
  countSpecsByStatus,
  listSpecSummaries,
  type SpecSummaryRow,
} from "../../store/configurations/summaries.ts";
import {
  deleteZone as deleteZoneRow,
  findZone,
  findZoneByName,
  insertZone,
  listZones as listZoneRows,
  saveZone,
  type ZoneRow,
} from "../../store/zones/zones.ts";
import type { Queries } from "../../store/db.ts";
import { endZoneRoles } from "../../store/teams/zone-roles.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import { writeConfiguration } from "../configurations/configurations.ts";
import { findDeployed } from "../job-changes/deployed.ts";
import { findFailedJob, shownError } from "../configurations/failed-job.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import { second } from "../../../common/units.ts";
import type { JsonText } from "../json-text.ts";
import { checkCount, countRefusal } from "../storage/quotas.ts";
import { actingIn } from "../teams/spaces.ts";
import { finishMoves, refuseMoving } from "../storage/zone-moves.ts";
import { measureStates, moveZone, StatesChangedError, targetSpace } from "./moves.ts";
import { checkSubjects } from "../identities/subjects.ts";

/** How long the request that moves a zone waits for its jobs. */
const followMilliseconds = 2 * second;
/** Ids of configurations read at a time. */
const pageSize = 200;

export async function createZone(
  context: Context,
  user: UserCaller,
  { name }: CreateZone,
): Promise<Zone> {
  const at = context.now();
  const { space_id: owner } = user;
  const zone: ZoneRow = { id: uuid(), owner_id: owner, name, created_at: at, updated_at: at };
  const created = context.store.write(async (tx) => {
    if (await tx.first(findZoneByName, { name, owner }))
      throw new RefusalError("name_taken", `the zone "${name}" already exists`);
    await checkCount(context, tx, owner, "zones");
    await insertZone(tx, zone);
    await recordOwn(tx, user, { action: "zone.create", id: zone.id, name }, at);
  });
  await countRefusal(context, created);
  return { ...viewZone(zone), specs: [] };
}

export type BareZone = Omit<Zone, "specs">;

export async function getZone(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<BareZone> {
  const zone = await read.first(findZone, { id, owner });
  if (!zone) throw notFound("zone");
  return viewZone(zone);
}

export async function listZones(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<BareZone[]> {
  return (await listZoneRows(read, owner, before, limit)).map(viewZone);
}

export async function* writeZone(context: Context, user: UserCaller, zone: BareZone): JsonText {
  yield `${JSON.stringify(zone).slice(0, -1)},"specs":[`;
  const { space_id: owner } = user;
  const { read } = context.store;
  let before: string | undefined;
  let separator = "";
  for (;;) {
    const ids = await listSpecIdsOfZone(read, { owner, zone: zone.id }, before, pageSize);
    for (const id of ids)
      for await (const text of writeConfiguration(context, user, id)) {
        yield separator + text;
        separator = ",";
      }
    if (ids.length < pageSize) break;
    before = ids.at(-1);
  }
  yield "]}";
}

export interface ZoneSummary extends BareZone {
  readonly statuses: readonly {
    readonly status: Configuration["status"];
    readonly count: number;
    readonly failed: number;
    readonly warned: number;
    readonly drifted: number;
  }[];
}

export async function listZoneSummaries(
  context: Context,
  user: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<ZoneSummary[]> {
  const zones = await listZones(context, user, before, limit);
  const { read } = context.store;
  const ids = zones.map(({ id }) => id);
  const counts = await countSpecsByStatus(read, user.space_id, ids);
  const byZone = Map.groupBy(counts, ({ zone_id }) => zone_id);
  return zones.map((zone) => ({ ...zone, statuses: byZone.get(zone.id) ?? [] }));
}

export type ConfigurationSummary = Pick<
  Configuration,
  "id" | "name" | "status" | "error_message" | "deployed" | "failed_job" | "updated_at"
> & { readonly source: SpecSummaryRow["source"]; readonly isDrifted: boolean };

export async function listConfigurationSummaries(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  zone: string,
  before: string | undefined,
  limit: number,
): Promise<ConfigurationSummary[]> {
  const rows = await listSpecSummaries(read, { owner, zone, before, limit });
  return Promise.all(
    rows.map(async ({ deployed_backend, failed_job_id, failed_checks, drift_status, ...row }) => ({
      ...row,
      isDrifted: drift_status === "drifted",
      error_message: shownError(row),
      deployed: await findDeployed(read, { id: row.id, deployed_backend, failed_checks }),
      failed_job: await findFailedJob(read, { failed_job_id }),
      updated_at: time(row.updated_at),
    })),
  );
}

export type ZoneName = Pick<Zone, "id" | "name">;

export async function getZoneName(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<ZoneName> {
  const zone = await read.first(findZone, { id, owner });
  if (!zone) throw notFound("zone");
  return { id, name: zone.name };
}

export async function listZoneNames(
  context: Context,
  user: UserCaller,
  limit: number,
): Promise<ZoneName[]> {
  const zones = await listZones(context, user, undefined, limit);
  return zones.map(({ id, name }) => ({ id, name }));
}

/**
 * PATCH /api/cli/zones/{id}: renames a zone, or moves it to another space; returns the caller in the
 * space that it is in now. A change that depends on the zone is passed as a function of it, so that
 * no other change comes in between.
 */
export async function updateZone(
  context: Context,
  user: UserCaller,
  id: string,
  asked: UpdateZone | ((now: Pick<Zone, "name">) => UpdateZone),
): Promise<UserCaller> {
  const owner = user.space_id;
  const { team } = typeof asked === "function" ? {} : asked;
  const target = team === undefined ? undefined : targetSpace(user, team);
  const change = (states?: Awaited<ReturnType<typeof measureStates>>) =>
    context.store.write(async (tx) => {
      const before = await tx.first(findZone, { id, owner });
      if (!before) throw notFound("zone");
      const { name } = typeof asked === "function" ? asked(before) : asked;
      if (name !== undefined) await renameZone(context, tx, user, { id, name });
      const zone = { id, name: name ?? before.name };
      if (target && states) await moveZone(context, tx, user, zone, target, states);
    });
  if (!target) {
    await change();
    return user;
  }
  for (let tries = 1; ; tries += 1) {
    if (!(await context.store.read.first(findZone, { id, owner }))) throw notFound("zone");
    try {
      await change(await measureStates(context, { zone: id, from: owner }));
      break;
    } catch (error) {
      if (!(error instanceof StatesChangedError) || tries === moveTries) throw error;
    }
  }
  // Mostly all jobs follow in this time. The move is stored, so a failure here is no error: the
  // server's own round does the rest.
  await finishMoves(context, AbortSignal.timeout(followMilliseconds)).catch(() => undefined);
  return actingIn(user, target);
}

/** How often a move measures the states of its zone, which jobs elsewhere may change meanwhile. */
const moveTries = 5;

async function renameZone(
  { now }: Context,
  tx: Queries,
  user: UserCaller,
  { id, name }: ZoneName,
): Promise<void> {
  const named = await tx.first(findZoneByName, { name, owner: user.space_id });
  if (named && named.id !== id)
    throw new RefusalError("name_taken", `the zone "${name}" already exists`);
  await saveZone(tx, { id, name, updated_at: now() });
  await checkSubjects(tx, { owner: user.space_id, zone: id }, "body.name");
  const details = { fields: ["name"] };
  await recordOwn(tx, user, { action: "zone.update", id, name, details }, now());
}

export async function deleteZone(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  const { space_id: owner } = user;
  await store.write(async (tx) => {
    const zone = await tx.first(findZone, { id, owner });
    if (!zone) throw notFound("zone");
    await refuseMoving(tx, id);
    if (await tx.first(findSpecOfZone, { zone: id })) throw new RefusalError("zone_not_empty");
    await deleteZoneRow(tx, id);
    const { name } = zone;
    await recordOwn(tx, user, { action: "zone.delete", id, name }, now());
    // Afterwards: the caller may act by one of them.
    await endZoneRoles(tx, owner, id);
  });
}

const viewZone = ({ id, name, created_at, updated_at }: ZoneRow): BareZone => ({
  id,
  name,
  created_at: time(created_at),
  updated_at: time(updated_at),
});
