/**
 * Whether a caller may still do what the request was admitted for. Guards decide when they have the
 * head of a request; until its body has come and it changes something, its caller may have lost the
 * login, the token, the membership or the role.
 */
import { RefusalError } from "../domain/refusal.ts";
import { includesRole } from "../domain/roles.ts";
import type { Role } from "../../protocol/roles.ts";
import type { Queries } from "../store/db.ts";
import { findAccessTokenById } from "../store/people/access-tokens.ts";
import { findLogin } from "../store/people/logins.ts";
import type { UserCaller } from "./callers.ts";

export type AdmittedCaller = Pick<UserCaller, "login_id" | "login_kind" | "spaces">;

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
  const roles = await findRoles(tx, caller, now);
  if (!roles)
    throw new RefusalError(
      "unauthenticated",
      "the login or access token of this request has just ended",
    );
  if (admitted.slug === null) return;
  const role = roles.get(space);
  if (role === undefined)
    throw new RefusalError("team_not_found", "you are no longer a member of this team");
  if (!includesRole(role, admitted.role))
    throw new RefusalError(
      "permission_denied",
      `Your role in this team has just become ${role}. Repeat the request if that role permits it.`,
    );
}

/** The caller's roles, by team; undefined if its login or access token has ended. */
async function findRoles(
  tx: Queries,
  { login_id: id, login_kind }: AdmittedCaller,
  now: number,
): Promise<Map<string, Role> | undefined> {
  if (login_kind === "token") {
    const token = await tx.first(findAccessTokenById, { id });
    if (!token || token.creator_blocked_at !== null) return undefined;
    return rolesOf([{ team_id: token.owner_id, team_role: token.creator_role }]);
  }
  const rows = await tx.all(findLogin, { id, now });
  return rows.length === 0 ? undefined : rolesOf(rows);
}

const rolesOf = (
  rows: readonly { readonly team_id: string | null; readonly team_role: Role | null }[],
): Map<string, Role> =>
  new Map(
    rows.flatMap(({ team_id, team_role }) =>
      team_id === null || team_role === null ? [] : [[team_id, team_role] as const],
    ),
  );
