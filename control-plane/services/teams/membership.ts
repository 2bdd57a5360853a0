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
import { RefusalError } from "../../domain/refusal.ts";
import { auditedRoles, higherAccess, zonesOf, zonesText, type Access } from "../../domain/roles.ts";
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
  readonly invited?: { readonly access: Access; readonly by: string | null } | null;
  /** Null: in no group any longer. */
  readonly groups?: { readonly access: Access; readonly names: readonly string[] } | null;
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
  const access = accessOf(given);
  const counts = access && { role: access.role, zones: zonesText(access.zones) };
  if (counts === undefined) {
    if (before) await endMember(tx, changed, before, now);
  } else if (!before) {
    await log(tx, changed, "member.join", auditedRoles(counts), now);
    const member = { space_id: space, user_id: user, ...given, ...counts, joined_at: now };
    await insertMember(tx, member);
  } else {
    const after = { ...before, ...given, ...counts };
    if (before.role === "admin" && counts.role !== "admin")
      await deleteSecretsOfAdmin(tx, { space, user });
    if (!isSame(before, counts) || !isSame(invitedOf(before), invitedOf(after))) {
      const { role: role_before, zones = [] } = auditedRoles(before);
      const was = { role_before, ...(zones.length > 0 ? { zones_before: zones } : {}) };
      // Before the change: it may be the caller's own role.
      await log(tx, changed, "member.update", { ...auditedRoles(counts), ...was }, now);
    }
    const { email: _, joined_at: __, ...columns } = after;
    await saveMember(tx, columns);
  }
  if (!before || !counts || !isSame(before, counts))
    await refreshQueueOfVoter(tx, afterCommit, { owner: space, user }, now);
  afterCommit.push((wakeups) => wakeups.notify("login", user));
  if (counts === undefined) return undefined;
  const whose = { space_id: space, user_id: user };
  return { joined_at: now, email: name, ...before, ...whose, ...given, ...counts };
}

interface StoredRoles {
  readonly role: MemberRow["role"] | null;
  readonly zones: string;
}

const isSame = (one: StoredRoles, other: StoredRoles): boolean =>
  one.role === other.role && one.zones === other.zones;

const invitedOf = ({ invited_role, invited_zones }: Given): StoredRoles => ({
  role: invited_role,
  zones: invited_zones,
});

/** What the sources give together; undefined without any. */
const accessOf = (given: Given): Access | undefined =>
  higherAccess([
    ...(given.invited_role === null
      ? []
      : [{ role: given.invited_role, zones: zonesOf(given.invited_zones) }]),
    ...(given.group_role === null
      ? []
      : [{ role: given.group_role, zones: zonesOf(given.group_zones) }]),
  ]);

type Given = Pick<
  MemberRow,
  "invited_role" | "invited_zones" | "invited_by" | "group_role" | "group_zones" | "group_names"
>;

const nothing: Given = {
  invited_role: null,
  invited_zones: "{}",
  invited_by: null,
  group_role: null,
  group_zones: "{}",
  group_names: "[]",
};

function combined(before: Given = nothing, { invited, groups }: Sources): Given {
  const { invited_role, invited_zones, invited_by, group_role, group_zones, group_names } = before;
  return {
    ...(invited === undefined
      ? { invited_role, invited_zones, invited_by }
      : {
          invited_role: invited?.access.role ?? null,
          invited_zones: zonesText(invited?.access.zones ?? new Map()),
          invited_by: invited?.by ?? null,
        }),
    ...(groups === undefined
      ? { group_role, group_zones, group_names }
      : {
          group_role: groups?.access.role ?? null,
          group_zones: zonesText(groups?.access.zones ?? new Map()),
          group_names: JSON.stringify(groups?.names ?? []),
        }),
  };
}

async function endMember(
  tx: Queries,
  changed: ChangedMember,
  before: MemberRow,
  now: number,
): Promise<void> {
  const { space, user } = changed;
  if (before.role === "admin") await deleteSecretsOfAdmin(tx, { space, user });
  const tokens = await tx.all(deleteTokensOf, { space, user });
  // Before the change: the caller may be the one who leaves.
  await log(
    tx,
    changed,
    "member.remove",
    { ...auditedRoles(before), access_tokens: tokens.length },
    now,
  );
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
    "this is the only admin of the team who can sign in: make another member admin first, or delete the team",
  );
}

/** Deletes what is left for the addresses of someone who joins a team, or is no longer a member. */
export async function closeInvitationsTo(tx: Queries, space: string, user: string): Promise<void> {
  const addresses = (await listAddressesOf(tx, user)).map(lowerCase);
  await deleteInvitationsTo(tx, { space, addresses });
}
