/** Variable sets without their values, for lists. */
import {
  countAttachments,
  findAttachmentNames,
  findVariableSet,
  listVariableSetNames as listNames,
  type VariableSetName,
} from "../../store/variable-sets/variable-sets.ts";
import { notFound } from "../../domain/refusal.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

export type { VariableSetName };

export interface VariableSetSummary extends VariableSetName {
  /** How many of them the set is attached to. */
  readonly zones: number;
  readonly configurations: number;
}

export async function listVariableSetSummaries(
  context: Context,
  user: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<VariableSetSummary[]> {
  const { read } = context.store;
  const sets = await listNames(read, user.space_id, before, limit);
  const counts = await countAttachments(
    read,
    sets.map(({ id }) => id),
  );
  const bySet = new Map(counts.map((one) => [one.set_id, one]));
  return sets.map((set) => {
    const { zones = 0, specs: configurations = 0 } = bySet.get(set.id) ?? {};
    return { ...set, zones, configurations };
  });
}

export const listVariableSetNames = (
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  limit: number,
): Promise<VariableSetName[]> => listNames(read, owner, undefined, limit);

export interface Attachment {
  readonly level: "zone" | "configuration";
  readonly id: string;
  readonly name: string;
}

/** What a set of the user is attached to, by name, zones first. */
export async function listAttachments(
  { store: { read } }: Context,
  { space_id: owner }: UserCaller,
  set: string,
): Promise<Attachment[]> {
  if (!(await read.first(findVariableSet, { id: set, owner }))) throw notFound("variable set");
  return read.all(findAttachmentNames, { set });
}
