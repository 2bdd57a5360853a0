import { setImmediate as nextTurn } from "node:timers/promises";
import type { AttachedSet } from "../../../protocol/configurations.ts";
import { setsBytesLimit } from "../../../protocol/variable-sets.ts";
import { mebibyte } from "../../../common/units.ts";
import { inherited, type Inherited, type ValuedSet } from "../../domain/variable-sets.ts";
import { mask, unseal, type Definition } from "../../domain/snapshot.ts";
import type { Values } from "../../domain/snapshot-values.ts";
import { UnreadableError, type SecretBox } from "../../domain/secret-box.ts";
import type { Queries } from "../../store/db.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import {
  findSetDefinition,
  findSetsOf,
  findSetsOfZone,
  type AttachedRow,
} from "../../store/variable-sets/variable-sets.ts";
import { findZone } from "../../store/zones/zones.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { wholeText } from "../definitions.ts";
import { ChangedMeanwhileError, untilUnchanged } from "../large-work.ts";
import { mib } from "../storage/quotas.ts";

/** With lengths, in the order in which they win: own, then the zone's, each by name. */
export async function measureAttachedSets(
  queries: Queries,
  { id: spec, zone_id: zone }: Pick<SpecRow, "id" | "zone_id">,
): Promise<AttachedRow[]> {
  const rows = await queries.all(findSetsOf, { spec, zone });
  return rows.filter(({ id }, at) => rows.findIndex((row) => row.id === id) === at);
}

export const findAttachedSets = async (
  queries: Queries,
  spec: Pick<SpecRow, "id" | "zone_id">,
): Promise<AttachedSet[]> => (await measureAttachedSets(queries, spec)).map(named);

const named = ({ id, name, attached_to }: AttachedRow): AttachedSet => ({ id, name, attached_to });

/** Those of a configuration and of its zone. */
const openedBytes = 2 * setsBytesLimit;

export const lengthOf = (sets: readonly AttachedRow[]): number =>
  sets.reduce((sum, { bytes }) => sum + bytes, 0);

/**
 * Returns these sets with their values. Throws UnreadableError with the name of the set, and
 * ChangedMeanwhileError where it is not the same version any more. Before there was a limit, sets of
 * any length could be attached.
 */
export async function openAttachedSets(
  read: Queries,
  sets: readonly AttachedRow[],
  box: SecretBox,
): Promise<ValuedSet[]> {
  const bytes = lengthOf(sets);
  if (bytes > openedBytes)
    throw new RefusalError(
      "quota_exceeded",
      `the variable sets of the configuration and its zone have ${mib(bytes)} together, and at most ${mib(openedBytes)} are used: detach some of them`,
    );
  return readSets(read, sets, (values, { id, name }) => {
    try {
      return unseal(values, box, id);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      throw new UnreadableError(`variable set "${name}": ${error.message}`, { cause: error });
    }
  });
}

/** Sets in the order in which they win, and what each gives, without sensitive values. */
export interface SetsOf {
  readonly sets: readonly AttachedSet[];
  /** Undefined where they are too long for a page. */
  readonly values: readonly Inherited[] | undefined;
}

export async function listSetsOfConfiguration(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<SetsOf> {
  const spec = await read.first(findSpec, { id, owner });
  if (!spec) throw notFound("configuration");
  return untilUnchanged(async () => {
    const sets = await measureAttachedSets(read, spec);
    const isShown = sets.length > 0 && lengthOf(sets) <= shownBytes;
    const own = isShown ? (JSON.parse(await wholeText(read, spec.definition)) as Definition) : {};
    return masked(read, sets, own);
  });
}

/** Returns the sets that all configurations of a zone of the user get values from. */
export async function listSetsOfZone(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<SetsOf> {
  if (!(await read.first(findZone, { id, owner }))) throw notFound("zone");
  return untilUnchanged(async () => masked(read, await read.all(findSetsOfZone, { zone: id }), {}));
}

/** A page shows the first of the values; opening more would keep other requests waiting. */
const shownBytes = 4 * mebibyte;

async function masked(read: Queries, sets: readonly AttachedRow[], own: Values): Promise<SetsOf> {
  const isShown = lengthOf(sets) <= shownBytes;
  const valued = isShown ? await readSets(read, sets, (values) => mask(values)) : undefined;
  return { sets: sets.map(named), values: valued && inherited(own, valued) };
}

async function readSets(
  read: Queries,
  sets: readonly AttachedRow[],
  open: (values: Values, set: AttachedRow) => Values,
): Promise<ValuedSet[]> {
  const valued: ValuedSet[] = [];
  for (const set of sets) {
    const row = await read.first(findSetDefinition, { id: set.id });
    if (row?.version !== set.version) throw new ChangedMeanwhileError();
    const values = JSON.parse(await wholeText(read, row.definition)) as Values;
    // A set may have megabytes, for which other requests would have to wait one after the other.
    await nextTurn();
    valued.push({ ...named(set), values: open(values, set) });
    await nextTurn();
  }
  return valued;
}
