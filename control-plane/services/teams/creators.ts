/** Who may create teams. */
import { RefusalError } from "../../domain/refusal.ts";
import { allowsAddress } from "../../domain/sign-in-allow.ts";
import type { Queries } from "../../store/db.ts";
import { findFirstUser, listAddressesOf } from "../../store/people/accounts.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

/**
 * Throws 403 unless WINDLASS_TEAM_CREATORS names a verified address of the user, or is not set. The
 * first user of the server, who set it up, always may.
 */
export async function checkTeamCreator(
  { teamCreators }: Pick<Context, "teamCreators">,
  tx: Queries,
  { user_id: user }: UserCaller,
): Promise<void> {
  if (teamCreators.length === 0) return;
  if (allowsAddress(teamCreators, await listAddressesOf(tx, user))) return;
  if ((await findFirstUser(tx))?.id === user) return;
  throw new RefusalError(
    "permission_denied",
    "Only some people may create teams on this server (WINDLASS_TEAM_CREATORS): ask its operator",
  );
}
