/** The values that a configuration gets from its variable sets. */
import type { AttachedSet } from "../../../protocol/configurations.ts";
import { inherited, type Inherited, type ValuedSet } from "../../domain/variable-sets.ts";
import { mask, unseal, type Definition } from "../../domain/snapshot.ts";
import type { Values } from "../../domain/snapshot-values.ts";
import { UnreadableError, type SecretBox } from "../../domain/secret-box.ts";
import type { Queries } from "../../store/db.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import {
  findSetDefinition,
  findSetNamesOf,
  findSetNamesOfZone,
} from "../../store/variable-sets/variable-sets.ts";
import { findZone } from "../../store/zones/zones.ts";
import { notFound } from "../../domain/refusal.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/**
 * Returns the sets of a configuration, in the order in which they win: those attached to it, then
 * those attached to its zone, each by name.
 */
export async function findAttachedSets(
  queries: Queries,
  { id: spec, zone_id: zone }: Pick<SpecRow, "id" | "zone_id">,
): Promise<AttachedSet[]> {
  const rows = await queries.all(findSetNamesOf, { spec, zone });
  return rows.filter(({ id }, at) => rows.findIndex((row) => row.id === id) === at);
}

/** Returns the same sets with their values. Throws UnreadableError with the name of the set. */
export async function openAttachedSets(
  tx: Queries,
  spec: Pick<SpecRow, "id" | "zone_id">,
  box: SecretBox,
): Promise<ValuedSet[]> {
  return readSets(tx, await findAttachedSets(tx, spec), (values, { id, name }) => {
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
  readonly values: readonly Inherited[];
}

/** Returns the sets of a configuration of the user. */
export async function listSetsOfConfiguration(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<SetsOf> {
  const spec = await read.first(findSpec, { id, owner });
  if (!spec) throw notFound("configuration");
  const own = JSON.parse(spec.definition) as Definition;
  return masked(read, await findAttachedSets(read, spec), own);
}

/** Returns the sets that all configurations of a zone of the user get values from. */
export async function listSetsOfZone(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  id: string,
): Promise<SetsOf> {
  if (!(await read.first(findZone, { id, owner }))) throw notFound("zone");
  const found = await read.all(findSetNamesOfZone, { zone: id });
  const sets = found.map((set): AttachedSet => ({ ...set, attached_to: "zone" }));
  return masked(read, sets, {});
}

async function masked(queries: Queries, sets: readonly AttachedSet[], own: Values) {
  const valued = await readSets(queries, sets, (values) => mask(values));
  return { sets, values: inherited(own, valued) };
}

async function readSets(
  queries: Queries,
  sets: readonly AttachedSet[],
  open: (values: Values, set: AttachedSet) => Values,
): Promise<ValuedSet[]> {
  const valued: ValuedSet[] = [];
  for (const set of sets) {
    const row = await queries.first(findSetDefinition, { id: set.id });
    if (row) valued.push({ ...set, values: open(JSON.parse(row.definition) as Values, set) });
  }
  return valued;
}
