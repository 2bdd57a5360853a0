/** Configurations without what is in them: for pages that only name them. */
import type { UserCaller } from "../callers.ts";
import { listSpecNames, type SpecName } from "../../store/configurations/configurations.ts";
import type { Context } from "../context.ts";

/** The names of an owner's configurations, in their order; at most `limit`. */
export const listConfigurationNames = (
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  limit: number,
): Promise<SpecName[]> => listSpecNames(read, owner, { limit });

/** The name of one; undefined where it is not the owner's, or not any more. */
export async function findConfigurationName(
  { store: { read } }: Context,
  { user_id: owner }: UserCaller,
  id: string,
): Promise<string | undefined> {
  const [found] = await listSpecNames(read, owner, { id, limit: 1 });
  return found?.name;
}
