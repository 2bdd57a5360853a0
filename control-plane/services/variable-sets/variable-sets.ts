/** Variable sets: values that several configurations share. */
import { v7 as uuid } from "uuid";
import {
  attachmentsLimit,
  setsLimit,
  type CreateVariableSet,
  type UpdateVariableSet,
  type VariableSet,
} from "../../../protocol/variable-sets.ts";
import {
  markSecrets,
  mask,
  seal,
  unsealReadable,
  updatedValues,
  type ValueMarks,
} from "../../domain/snapshot.ts";
import type { Values } from "../../domain/snapshot-values.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { findSpec } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import {
  attach,
  countSetsOf,
  deleteVariableSet as deleteRow,
  detach,
  findAttachments,
  findVariableSet,
  findVariableSetByName,
  insertVariableSet,
  listVariableSetNames as listNames,
  saveVariableSet,
  type AttachmentRow,
  type VariableSetRow,
} from "../../store/variable-sets/variable-sets.ts";
import { findZone } from "../../store/zones/zones.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { time } from "../jobs/views.ts";
import type { JsonText } from "../json-text.ts";
import { checkVariableSets, countRefusal } from "../storage/quotas.ts";

/** POST /api/cli/variable-sets. */
export async function createVariableSet(
  context: Context,
  user: UserCaller,
  input: CreateVariableSet,
): Promise<VariableSet> {
  const { space_id: owner } = user;
  const [id, at] = [uuid(), context.now()];
  const { name } = input;
  const values = updatedValues({ variables: {}, environment: {} }, input);
  const definition = JSON.stringify(seal(values, context.box("variables"), id));
  const row = { id, owner_id: owner, name, definition, created_at: at, updated_at: at };
  const created = context.store.write(async (tx) => {
    await checkVariableSets(context, tx, owner);
    await checkName(tx, owner, name);
    await insertVariableSet(tx, row);
    await replaceAttachments(tx, row, input);
    await recordOwn(tx, user, { action: "variable_set.create", id, name }, at);
    return view(tx, row);
  });
  return countRefusal(context, created);
}

/** The ids of a page of GET /api/cli/variable-sets. */
export const listVariableSetIds = async (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<string[]> => (await listNames(read, owner, before, limit)).map(({ id }) => id);

/** Returns the JSON of a set; nothing if it no longer exists. */
export async function* writeVariableSet(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): JsonText {
  const row = await read.first(findVariableSet, { id, owner });
  if (row) yield JSON.stringify(await view(read, row));
}

/** GET /api/cli/variable-sets/{id}. */
export async function getVariableSet(
  { store: { read } }: Context,
  user: UserCaller,
  id: string,
): Promise<VariableSet> {
  return view(read, await find(read, user, id));
}

/** The marks of its sensitive values; throws 404. */
export async function readSetMarks(
  { store: { read }, box }: Context,
  user: UserCaller,
  id: string,
): Promise<ValueMarks> {
  const { id: set, definition } = await find(read, user, id);
  const key = box("variables");
  return markSecrets(unsealReadable(JSON.parse(definition) as Values, key, set), key, set);
}

/**
 * PATCH /api/cli/variable-sets/{id}. Existing jobs keep their snapshot. A change that depends on
 * the set is passed as a function of it, so that no other change comes in between.
 */
export async function updateVariableSet(
  context: Context,
  user: UserCaller,
  id: string,
  asked: UpdateVariableSet | ((now: VariableSet, marks: ValueMarks) => UpdateVariableSet),
): Promise<VariableSet> {
  const box = context.box("variables");
  return context.store.write(async (tx) => {
    const before = await find(tx, user, id);
    const plain = unsealReadable(JSON.parse(before.definition) as Values, box, before.id);
    const change =
      typeof asked === "function"
        ? asked(await view(tx, before), markSecrets(plain, box, before.id))
        : asked;
    if (Object.keys(change).length === 0) return view(tx, before);
    const { name = before.name } = change;
    if (name !== before.name) await checkName(tx, user.space_id, name);
    const values = seal(updatedValues(plain, change), box, before.id);
    const definition = JSON.stringify(values);
    const after = { ...before, name, definition, updated_at: context.now() };
    await saveVariableSet(tx, after);
    await replaceAttachments(tx, after, change);
    const named = { id: after.id, name, details: { fields: Object.keys(change) } };
    await recordOwn(tx, user, { action: "variable_set.update", ...named }, after.updated_at);
    return view(tx, after);
  });
}

/** DELETE /api/cli/variable-sets/{id}. Refused while it is attached. */
export async function deleteVariableSet(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const { id: set, name } = await find(tx, user, id);
    const attached = await tx.all(findAttachments, { set });
    if (attached.length > 0)
      throw new RefusalError(
        "variable_set_in_use",
        `the variable set "${name}" is attached to ${placesOf(attached)}: detach it first`,
      );
    await deleteRow(tx, set);
    await recordOwn(tx, user, { action: "variable_set.delete", id: set, name }, now());
  });
}

/** `1 zone and 2 configurations`. */
function placesOf(attached: readonly AttachmentRow[]): string {
  const zones = attached.filter(({ zone_id }) => zone_id !== null).length;
  return [[zones, "zone"] as const, [attached.length - zones, "configuration"] as const]
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}${count === 1 ? "" : "s"}`)
    .join(" and ");
}

/** A zone or a configuration. */
export type Target = { readonly zone_id: string } | { readonly configuration_id: string };

/** PUT and DELETE of an attachment. What is already so stays so, and is not recorded again. */
export async function setAttached(
  { store, now }: Context,
  user: UserCaller,
  id: string,
  target: Target,
  isAttached: boolean,
): Promise<VariableSet> {
  return store.write(async (tx) => {
    const row = await find(tx, user, id);
    const { to, named } = await checkedTarget(tx, user.space_id, target);
    const known = await tx.all(findAttachments, { set: row.id });
    if (known.some((one) => isSame(one, to)) !== isAttached) {
      if (isAttached) {
        refuseTooMany([...known, to]);
        await attachOne(tx, row.id, to);
      } else await detach(tx, row.id, to);
      const action = isAttached ? "variable_set.attach" : "variable_set.detach";
      await recordOwn(tx, user, { action, id: row.id, name: row.name, details: named }, now());
    }
    return view(tx, row);
  });
}

/** Attaches a set to these zones and configurations and to no others. */
async function replaceAttachments(
  tx: Queries,
  { id, owner_id: owner }: VariableSetRow,
  { zone_ids, configuration_ids }: UpdateVariableSet,
): Promise<void> {
  if (zone_ids === undefined && configuration_ids === undefined) return;
  const known = await tx.all(findAttachments, { set: id });
  const wanted: AttachmentRow[] = [];
  for (const zone_id of zone_ids ?? [])
    wanted.push((await checkedTarget(tx, owner, { zone_id })).to);
  for (const configuration_id of configuration_ids ?? [])
    wanted.push((await checkedTarget(tx, owner, { configuration_id })).to);
  const isReplaced = ({ zone_id }: AttachmentRow) =>
    (zone_id === null ? configuration_ids : zone_ids) !== undefined;
  for (const one of known)
    if (isReplaced(one) && !wanted.some((other) => isSame(one, other))) await detach(tx, id, one);
  for (const one of wanted)
    if (!known.some((other) => isSame(one, other))) await attachOne(tx, id, one);
}

const isSame = (a: AttachmentRow, b: AttachmentRow): boolean =>
  a.zone_id === b.zone_id && a.spec_id === b.spec_id;

/** Returns it with its name for the audit log. Throws 404 unless it is the owner's. */
async function checkedTarget(
  tx: Queries,
  owner: string,
  target: Target,
): Promise<{ to: AttachmentRow; named: Record<string, string> }> {
  if ("zone_id" in target) {
    const zone = await tx.first(findZone, { id: target.zone_id.toLowerCase(), owner });
    if (!zone) throw notFound("zone");
    const { id: zone_id, name: zone_name } = zone;
    return { to: { zone_id, spec_id: null }, named: { zone_id, zone_name } };
  }
  const spec = await tx.first(findSpec, { id: target.configuration_id.toLowerCase(), owner });
  if (!spec) throw notFound("configuration");
  const { id: configuration_id, name: configuration_name } = spec;
  const named = { configuration_id, configuration_name };
  return { to: { zone_id: null, spec_id: spec.id }, named };
}

async function attachOne(tx: Queries, id: string, to: AttachmentRow): Promise<void> {
  await attach(tx, id, to);
  if ((await countSetsOf(tx, to)) > setsLimit)
    throw new RefusalError(
      "quota_exceeded",
      `${setsLimit} variable sets are already attached to the ${to.zone_id === null ? "configuration" : "zone"}, which is the limit`,
    );
}

function refuseTooMany(attachments: readonly AttachmentRow[]): void {
  const { length: zones } = attachments.filter(({ zone_id }) => zone_id !== null);
  if (Math.max(zones, attachments.length - zones) > attachmentsLimit)
    throw new RefusalError(
      "quota_exceeded",
      `the variable set is already attached to ${attachmentsLimit} of them, which is the limit`,
    );
}

async function find(
  queries: Queries,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<VariableSetRow> {
  const row = await queries.first(findVariableSet, { id: id.toLowerCase(), owner });
  if (!row) throw notFound("variable set");
  return row;
}

async function checkName(tx: Queries, owner: string, name: string): Promise<void> {
  if (await tx.first(findVariableSetByName, { name, owner }))
    throw new RefusalError("name_taken", `the variable set "${name}" already exists`);
}

async function view(
  queries: Queries,
  { id, name, definition, created_at, updated_at }: VariableSetRow,
): Promise<VariableSet> {
  const attachments = await queries.all(findAttachments, { set: id });
  return {
    id,
    name,
    ...mask(JSON.parse(definition) as Values),
    zone_ids: attachments.flatMap(({ zone_id }) => zone_id ?? []),
    configuration_ids: attachments.flatMap(({ spec_id }) => spec_id ?? []),
    created_at: time(created_at),
    updated_at: time(updated_at),
  };
}
