/** Changing and deleting zones and configurations, and what forbids it. */
import type {
  Configuration,
  CreateZone,
  UpdateConfiguration,
  Zone,
} from "../../../protocol/configurations.ts";
import type { UserCaller } from "../callers.ts";
import { seal, unsealReadable, updatedDefinition, type Definition } from "../../domain/snapshot.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import {
  abandonSpec,
  deleteZone as deleteZoneRow,
  findUnreleased,
  saveSpec,
  saveZone,
} from "../../store/configurations/removals.ts";
import {
  findZone,
  findZoneByName,
  listSpecIdsOfZone,
  type SpecRow,
} from "../../store/configurations/configurations.ts";
import { findLock, findState } from "../../store/states/states.ts";
import {
  checkNames,
  checkReferences,
  findNamed,
  getConfiguration,
  refuseIdAsName,
  viewSpec,
} from "./configurations.ts";
import { recordOwn } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { removeSomeOfSpec } from "../storage/removals.ts";
import { forget } from "../storage/orphaned-blobs.ts";

/** PATCH /api/cli/zones/{id}. A change that depends on the zone is a function of it: then no other comes in between. */
export async function updateZone(
  context: Context,
  user: UserCaller,
  id: string,
  asked: CreateZone | ((now: Pick<Zone, "name">) => CreateZone),
): Promise<void> {
  const owner = user.user_id;
  await context.store.write(async (tx) => {
    const before = await tx.first(findZone, { id, owner });
    if (!before) throw notFound("zone");
    const { name } = typeof asked === "function" ? asked(before) : asked;
    const named = await tx.first(findZoneByName, { name, owner });
    if (named && named.id !== id)
      throw new RefusalError("name_taken", `there is a zone "${name}" already`);
    await saveZone(tx, { id, name, updated_at: context.now() });
    const details = { fields: ["name"] };
    await recordOwn(tx, user, { action: "zone.update", id, name, details }, context.now());
  });
}

/** DELETE /api/cli/zones/{id}. */
export async function deleteZone(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  const { user_id: owner } = user;
  await store.write(async (tx) => {
    const zone = await tx.first(findZone, { id, owner });
    if (!zone) throw notFound("zone");
    if ((await listSpecIdsOfZone(tx, id, undefined, 1)).length > 0)
      throw new RefusalError("zone_not_empty");
    await deleteZoneRow(tx, id);
    const { name } = zone;
    await recordOwn(tx, user, { action: "zone.delete", id, name }, now());
  });
}

/**
 * PATCH /api/cli/configurations/{name}. Jobs that exist keep the snapshot they were made with; a plan of another definition than the
 * present one is stale by its hash. A change that depends on what there is, is a function of it: then no other comes in between.
 */
export async function updateConfiguration(
  context: Context,
  user: UserCaller,
  name: string,
  asked: UpdateConfiguration | ((now: Configuration) => UpdateConfiguration),
): Promise<Configuration> {
  const owner = user.user_id;
  const box = context.box("variables");
  const id = await context.store.write(async (tx) => {
    const before = await findNamed(tx, owner, name);
    const change = typeof asked === "function" ? asked(viewSpec(before, [])) : asked;
    if (Object.keys(change).length === 0) return before.id;
    if (change.name !== undefined && change.name !== before.name)
      await refuseIdAsName(tx, owner, change.name);
    const plain = unsealReadable(JSON.parse(before.definition) as Definition, box, before.id);
    const definition = updatedDefinition(plain, change);
    const isMoved = (definition.backend === "own") !== (plain.backend === "own");
    if (isMoved) await refuseResources(tx, before);
    const after: SpecRow = {
      ...before,
      name: change.name ?? before.name,
      project_name: change.project_name ?? before.project_name,
      zone_id: change.zone_id ?? before.zone_id,
      cloud_identity_id:
        change.cloud_identity_id === undefined
          ? before.cloud_identity_id
          : change.cloud_identity_id,
      labels: change.labels ? JSON.stringify(change.labels) : before.labels,
      definition: JSON.stringify(seal(definition, box, before.id)),
      updated_at: context.now(),
    };
    await checkReferences(tx, owner, { ...after, source: definition.source });
    await checkNames(tx, after);
    await saveSpec(tx, after);
    const named = { id: after.id, name: after.name, details: { fields: Object.keys(change) } };
    await recordOwn(tx, user, { action: "configuration.update", ...named }, context.now());
    return before.id;
  });
  return getConfiguration(context, user, id);
}

/**
 * DELETE /api/cli/configurations/{name}: nothing may run, be queued, be locked, or be recorded as existing. It is gone at once; a long
 * history is removed behind it.
 */
export async function deleteConfiguration(
  context: Context,
  user: UserCaller,
  name: string,
): Promise<void> {
  const { user_id: owner } = user;
  const unnamed = await context.store.write(async (tx) => {
    const spec = await findNamed(tx, owner, name);
    if (await tx.first(findUnreleased, { spec: spec.id }))
      throw new RefusalError("configuration_busy", "cancel its jobs, or wait for them");
    if (await tx.first(findLock, { spec: spec.id }))
      throw new RefusalError("state_locked", "a lost job left the state locked: unlock it first");
    await refuseResources(tx, spec);
    const named = { id: spec.id, name: spec.name };
    await recordOwn(tx, user, { action: "configuration.delete", ...named }, context.now());
    await abandonSpec(tx, spec.id);
    return removeSomeOfSpec(tx, spec.id, context.now());
  });
  await forget(context, unnamed);
}

/** What the managed state records exists; without the state nothing could destroy it. */
async function refuseResources(tx: Queries, { id: spec }: SpecRow): Promise<void> {
  const state = await tx.first(findState, { spec });
  if (state && state.resources > 0)
    throw new RefusalError(
      "configuration_not_empty",
      `its managed state records ${state.resources} resources: destroy them first`,
    );
}
