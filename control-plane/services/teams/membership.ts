/**
 * What makes a person a member of a team: an invitation, groups of a sign-in provider, or both. Every
 * membership is saved here, with everything that follows from its change.
 */
import { listAddressesOf } from "../../store/people/accounts.ts";
import { deleteInvitationsTo } from "../../store/teams/invitations.ts";
import {
  deleteMember,
  deleteSecretsOfAdmin,
  deleteTokensOf,
  findMember,
  findOtherAdmin,
  insertMember,
  saveMember,
  type MemberRow,
} from "../../store/teams/members.ts";
import type { Queries } from "../../store/db.ts";
import type { Role } from "../../../protocol/roles.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { highestRole } from "../../domain/roles.ts";
import { lowerCase } from "../../domain/sign-in-allow.ts";
import { record, type Actor, type AuditRecord } from "../audit/audit.ts";
import { refreshQueueOfVoter, type AfterCommit } from "../job-changes/changes.ts";

export const membersLimit = 500;

/** Whose membership in which team changes, and by whom. */
export interface ChangedMember {
  readonly space: string;
  readonly user: string;
  /** The address, for the audit log. */
  readonly name: string;
  readonly by: Actor;
  readonly details?: AuditRecord["details"];
}

/** The sources that change; the others stay. */
export interface Sources {
  /** Null: no longer by invitation. */
  readonly invited?: { readonly role: Role; readonly by: string | null } | null;
  /** Null: in no group any longer. */
  readonly groups?: { readonly role: Role; readonly names: readonly string[] } | null;
}

/**
 * In a transaction: lets someone join a team, changes the role, or ends the membership with its last
 * source. Access ends at once then, also of access tokens that the member created in this team.
 */
export async function changeMember(
  tx: Queries,
  afterCommit: AfterCommit,
  changed: ChangedMember,
  sources: Sources,
  now: number,
): Promise<MemberRow | undefined> {
  const { space, user, name } = changed;
  const before = await tx.first(findMember, { space, user });
  const given = combined(before, sources);
  const { invited_role, group_role } = given;
  const role = highestRole([invited_role, group_role]);
  if (role === undefined) {
    if (before) await endMember(tx, changed, before, now);
  } else if (!before) {
    await log(tx, changed, "member.join", { role }, now);
    const member = { space_id: space, user_id: user, ...given, role, joined_at: now };
    await insertMember(tx, member);
  } else {
    const after = { ...before, ...given, role };
    if (before.role === "admin" && role !== "admin")
      await deleteSecretsOfAdmin(tx, { space, user });
    if (before.role !== role || before.invited_role !== invited_role)
      // Before the change: it may be the caller's own role.
      await log(tx, changed, "member.update", { role, role_before: before.role }, now);
    const { email: _, joined_at: __, ...columns } = after;
    await saveMember(tx, columns);
  }
  if (before?.role !== role)
    await refreshQueueOfVoter(tx, afterCommit, { owner: space, user }, now);
  afterCommit.push((wakeups) => wakeups.notify("login", user));
  if (role === undefined) return undefined;
  return { joined_at: now, email: name, ...before, space_id: space, user_id: user, ...given, role };
}

type Given = Pick<MemberRow, "invited_role" | "invited_by" | "group_role" | "group_names">;

function combined(before: MemberRow | undefined, { invited, groups }: Sources): Given {
  const { invited_role = null, invited_by = null } = before ?? {};
  const { group_role = null, group_names = "[]" } = before ?? {};
  return {
    ...(invited === undefined
      ? { invited_role, invited_by }
      : { invited_role: invited?.role ?? null, invited_by: invited?.by ?? null }),
    ...(groups === undefined
      ? { group_role, group_names }
      : { group_role: groups?.role ?? null, group_names: JSON.stringify(groups?.names ?? []) }),
  };
}

async function endMember(
  tx: Queries,
  changed: ChangedMember,
  { role }: MemberRow,
  now: number,
): Promise<void> {
  const { space, user } = changed;
  if (role === "admin") await deleteSecretsOfAdmin(tx, { space, user });
  const tokens = await tx.all(deleteTokensOf, { space, user });
  // Before the change: the caller may be the one who leaves.
  await log(tx, changed, "member.remove", { role, access_tokens: tokens.length }, now);
  // While PostgreSQL still shows the address of the member.
  await closeInvitationsTo(tx, space, user);
  await tx.run(deleteMember, { space, user });
}

const log = (
  tx: Queries,
  { space: owner, user: id, name, by, details }: ChangedMember,
  action: AuditRecord["action"],
  more: NonNullable<AuditRecord["details"]>,
  now: number,
): Promise<void> =>
  record(tx, { by, owner, action, id, name, details: { ...more, ...details } }, now);

/** Throws unless a team has another admin than this user. */
export async function checkOtherAdmin(tx: Queries, space: string, user: string): Promise<void> {
  if (await tx.first(findOtherAdmin, { space, user })) return;
  throw new RefusalError(
    "last_admin",
    "this is the only admin of the team: make another member admin first, or delete the team",
  );
}

/** Deletes what is left for the addresses of someone who joins a team, or is no longer a member. */
export async function closeInvitationsTo(tx: Queries, space: string, user: string): Promise<void> {
  const addresses = (await listAddressesOf(tx, user)).map(lowerCase);
  await deleteInvitationsTo(tx, { space, addresses });
}
