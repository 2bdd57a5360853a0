/** The values that a configuration gets from its variable sets. */
import type { AttachedSet } from "../../../protocol/configurations.ts";
import { inherited, type Inherited, type ValuedSet } from "../../domain/variable-sets.ts";
import { mask, unseal, type Definition } from "../../domain/snapshot.ts";
import type { Values } from "../../domain/snapshot-values.ts";
import { UnreadableError, type SecretBox } from "../../domain/secret-box.ts";
import type { Queries } from "../../store/db.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import { findSetDefinition, findSetNamesOf } from "../../store/variable-sets/variable-sets.ts";
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
  return readSets(tx, spec, (values, { id, name }) => {
    try {
      return unseal(values, box, id);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      throw new UnreadableError(`variable set "${name}": ${error.message}`, { cause: error });
    }
  });
}

/** Returns what each set gives to a configuration of the user, without sensitive values. */
export async function listInherited(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  id: string,
): Promise<Inherited[]> {
  const spec = await read.first(findSpec, { id, owner });
  if (!spec) throw notFound("configuration");
  const sets = await readSets(read, spec, (values) => mask(values));
  return inherited(JSON.parse(spec.definition) as Definition, sets);
}

async function readSets(
  queries: Queries,
  spec: Pick<SpecRow, "id" | "zone_id">,
  open: (values: Values, set: AttachedSet) => Values,
): Promise<ValuedSet[]> {
  const sets: ValuedSet[] = [];
  for (const set of await findAttachedSets(queries, spec)) {
    const row = await queries.first(findSetDefinition, { id: set.id });
    if (row) sets.push({ ...set, values: open(JSON.parse(row.definition) as Values, set) });
  }
  return sets;
}
