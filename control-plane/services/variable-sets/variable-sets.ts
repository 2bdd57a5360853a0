import { isDeepStrictEqual } from "node:util";
import { v7 as uuid } from "uuid";
import type {
  CreateVariableSet,
  UpdateVariableSet,
  VariableSet,
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
import type { Queries } from "../../store/db.ts";
import {
  deleteVariableSet as deleteRow,
  findAttachments,
  findVariableSet,
  findVariableSetByName,
  insertVariableSet,
  listVariableSetNames as listNames,
  measureSet,
  saveVariableSet,
  type VariableSetRow,
} from "../../store/variable-sets/variable-sets.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import type { JsonText } from "../json-text.ts";
import {
  currentDraft,
  lengthOf,
  reading,
  sealedText,
  wholeText,
  writingOf,
  type SealedText,
  type Writing,
} from "../definitions.ts";
import { ChangedMeanwhileError, inTurn, letOthers, untilUnchanged } from "../large-work.ts";
import { checkCount, countRefusal } from "../storage/quotas.ts";
import {
  changeAttachment,
  findPlaces,
  placesOf,
  refuseFull,
  refuseGrowth,
  replaceAttachments,
  type Target,
} from "./attachments.ts";

export type { Target };

export async function createVariableSet(
  context: Context,
  user: UserCaller,
  input: CreateVariableSet,
): Promise<VariableSet> {
  const { space_id: owner } = user;
  const [id, at] = [uuid(), context.now()];
  const { name } = input;
  const values = updatedValues({ variables: {}, environment: {} }, input);
  const sealed = sealedText(seal(values, context.box("variables"), id));
  const add = (writing: Writing) =>
    context.store.write(async (tx) => {
      const times = { created_at: at, updated_at: at };
      const row = { id, owner_id: owner, name, ...writing, ...times, version: 0 };
      await checkCount(context, tx, owner, "variableSets");
      await checkName(tx, owner, name);
      await insertVariableSet(tx, row);
      await replaceAttachments(tx, row, input);
      await recordOwn(tx, user, { action: "variable_set.create", id, name }, at);
    });
  const created = inTurn(owner, sealed.text.length, async () => {
    await refuseFull(context.store.read, id, input, Buffer.byteLength(sealed.text));
    return writingOf(context, id, sealed, add);
  });
  await countRefusal(context, created);
  return getVariableSet(context, user, id);
}

export const listVariableSetIds = async (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<string[]> => (await listNames(read, owner, before, limit)).map(({ id }) => id);

export async function* writeVariableSet(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): JsonText {
  const viewed = await untilUnchanged(async () => {
    const row = await read.first(findVariableSet, { id, owner });
    return row && reading(owner, row.definition, () => view(read, row));
  });
  if (viewed) yield JSON.stringify(viewed);
}

export async function getVariableSet(
  { store: { read } }: Context,
  user: UserCaller,
  id: string,
): Promise<VariableSet> {
  return untilUnchanged(async () => {
    const row = await find(read, user, id);
    return reading(user.space_id, row.definition, () => view(read, row));
  });
}

/** The marks of its sensitive values; throws 404. */
export async function readSetMarks(
  { store: { read }, box }: Context,
  user: UserCaller,
  id: string,
): Promise<ValueMarks> {
  const key = box("variables");
  return untilUnchanged(async () => {
    const { id: set, definition } = await find(read, user, id);
    const opened = JSON.parse(await wholeText(read, definition)) as Values;
    return markSecrets(unsealReadable(opened, key, set), key, set);
  });
}

/**
 * PATCH /api/cli/variable-sets/{id}. Existing jobs keep their snapshot. A change that depends on
 * the set is passed as a function of it, so that no other change comes in between.
 */
export async function updateVariableSet(
  context: Context,
  user: UserCaller,
  id: string,
  asked: Asked,
): Promise<VariableSet> {
  const { store } = context;
  const set = await find(store.read, user, id);
  const { bytes = 0 } = (await store.read.first(measureSet, { id: set.id })) ?? {};
  const draftFrom = (queries: Queries) => draftOf(context, queries, user, id, asked);
  const update = async () => {
    if (keepsValues(asked)) {
      await refuseFull(store.read, set.id, asked, bytes);
      return store.write((tx) =>
        save(context, tx, user, { draft: { before: set, change: asked } }),
      );
    }
    const draft = await draftFrom(store.read);
    if (draft)
      await writingOf(context, set.id, draft.sealed, (writing) =>
        store.write(async (tx) => {
          const { version } = await find(tx, user, id);
          const current = await currentDraft(draft, writing, version, () => draftFrom(tx));
          if (current) await save(context, tx, user, current);
        }),
      );
  };
  const large = keepsValues(asked) ? 0 : lengthOf(bytes, asked);
  await inTurn(user.space_id, large, () => untilUnchanged(update));
  return getVariableSet(context, user, id);
}

type Asked = UpdateVariableSet | ((now: VariableSet, marks: ValueMarks) => UpdateVariableSet);

/** Whether nothing has to be opened. */
const keepsValues = (asked: Asked): asked is UpdateVariableSet =>
  typeof asked !== "function" &&
  asked.variables === undefined &&
  asked.environment === undefined &&
  Object.keys(asked).length > 0;

interface Draft {
  readonly before: VariableSetRow;
  /** What the change was made for. */
  readonly seen: VariableSet | undefined;
  readonly change: UpdateVariableSet;
  readonly sealed: SealedText;
}

/** Opens and seals. Returns undefined if nothing is to be changed. */
async function draftOf(
  context: Context,
  queries: Queries,
  user: UserCaller,
  id: string,
  asked: Asked,
): Promise<Draft | undefined> {
  const box = context.box("variables");
  const before = await find(queries, user, id);
  const stored = await wholeText(queries, before.definition);
  const { length } = stored;
  const plain = unsealReadable(JSON.parse(stored) as Values, box, before.id);
  await letOthers(length);
  const seen = typeof asked === "function" ? await view(queries, before) : undefined;
  const change =
    typeof asked === "function" ? asked(seen!, markSecrets(plain, box, before.id)) : asked;
  if (Object.keys(change).length === 0) return undefined;
  const values = updatedValues(plain, change);
  await letOthers(length);
  const sealed = sealedText(seal(values, box, before.id));
  const bytes = Buffer.byteLength(sealed.text);
  await refuseGrowth(queries, before.id, bytes - Buffer.byteLength(stored));
  await refuseFull(queries, before.id, change, bytes);
  return { before, seen, change, sealed };
}

async function save(
  context: Context,
  tx: Queries,
  user: UserCaller,
  {
    draft,
    writing,
  }: {
    readonly draft: Pick<Draft, "before" | "change"> & Partial<Draft>;
    readonly writing?: Writing;
  },
): Promise<void> {
  const { seen, change } = draft;
  const { id } = draft.before;
  const before = await find(tx, user, id);
  if (seen && !isDeepStrictEqual(await findPlaces(tx, id), placesIn(seen)))
    throw new ChangedMeanwhileError();
  const { name = before.name } = change;
  if (name !== before.name) await checkName(tx, user.space_id, name);
  const after = { ...before, name, ...writing, updated_at: context.now() };
  await saveVariableSet(tx, after);
  await replaceAttachments(tx, after, change);
  const named = { id, name, details: { fields: Object.keys(change) } };
  await recordOwn(tx, user, { action: "variable_set.update", ...named }, after.updated_at);
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

/** PUT and DELETE of an attachment. What is already so stays so, and is not recorded again. */
export async function setAttached(
  context: Context,
  user: UserCaller,
  id: string,
  target: Target,
  isAttached: boolean,
): Promise<VariableSet> {
  await context.store.write(async (tx) => {
    const row = await find(tx, user, id);
    const details = await changeAttachment(tx, row, target, isAttached);
    if (!details) return;
    const action = isAttached ? "variable_set.attach" : "variable_set.detach";
    await recordOwn(tx, user, { action, id: row.id, name: row.name, details }, context.now());
  });
  return getVariableSet(context, user, id);
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
  return {
    id,
    name,
    ...mask(JSON.parse(await wholeText(queries, definition)) as Values),
    ...(await findPlaces(queries, id)),
    created_at: time(created_at),
    updated_at: time(updated_at),
  };
}

const placesIn = ({ zone_ids, configuration_ids }: VariableSet) => ({
  zone_ids,
  configuration_ids,
});
