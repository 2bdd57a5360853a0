/**
 * Whether a caller may still do what the request was admitted for. Guards decide when they have the
 * head of a request; until its body has come and it changes something, its caller may have lost the
 * login, the token, the membership or the role.
 */
import { RefusalError } from "../domain/refusal.ts";
import { accessWords, includesAccess, includesRole } from "../domain/roles.ts";
import type { Queries } from "../store/db.ts";
import type { UserCaller } from "./callers.ts";
import { findSpaces } from "./people/caller-spaces.ts";
import { findRoleNow } from "./teams/spaces.ts";

export type AdmittedCaller = Pick<
  UserCaller,
  "login_id" | "login_kind" | "spaces" | "role" | "place"
>;

/**
 * Throws 401, 403 or 404 if the caller can no longer do in this space what it could when its request
 * was admitted. Runs in the transaction of a change, so a caller that has lost its access changes
 * nothing more. A space of which the caller was no member then, such as a team that it creates, is
 * not checked.
 */
export async function checkCurrentAccess(
  tx: Queries,
  caller: AdmittedCaller,
  space: string,
  now: number,
): Promise<void> {
  const admitted = caller.spaces.find(({ space_id }) => space_id === space);
  if (!admitted) return;
  const spaces = await findSpaces(tx, caller, now);
  if (!spaces)
    throw new RefusalError(
      "unauthenticated",
      "the login or access token of this request has just ended",
    );
  const current = spaces.find(({ space_id }) => space_id === space);
  if (current === undefined)
    throw new RefusalError("team_not_found", "you are no longer a member of this team");
  if (!includesAccess(current, admitted))
    throw new RefusalError(
      "permission_denied",
      `You have just got ${accessWords(current)} in this team. Repeat the request if that permits it.`,
    );
  // The configuration may have got into another zone, in which the caller may do less.
  const role = await findRoleNow(tx, current, caller);
  if (role !== undefined && !includesRole(role, caller.role))
    throw new RefusalError(
      "permission_denied",
      "It has just been moved to another zone. Repeat the request if your role there permits it.",
    );
}
