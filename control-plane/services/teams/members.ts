/** Members of a team. The caller acts in the team. */
import type { Member, UpdateMember } from "../../../protocol/teams.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { checkPermission } from "../../domain/roles.ts";
import type { Queries } from "../../store/db.ts";
import {
  deleteMember,
  deleteSecretsOfAdmin,
  deleteTokensOf,
  findMember,
  findOtherAdmin,
  listMembers as listRows,
  saveMemberRole,
  type MemberRow,
} from "../../store/teams/members.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { refreshQueueOfVoter, writeJobs } from "../job-changes/changes.ts";
import { time } from "../../domain/moments.ts";
import { closeInvitationsTo } from "./invitations.ts";

export async function listMembers(
  { store: { read } }: Context,
  { space_id }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Member[]> {
  return (await listRows(read, space_id, before, limit)).map(view);
}

export async function updateMember(
  context: Context,
  caller: UserCaller,
  user: string,
  { role }: UpdateMember,
): Promise<Member> {
  const { space_id: space } = caller;
  const { now, wakeups } = context;
  const member = await writeJobs(context, async (tx, afterCommit) => {
    await checkAdmin(tx, caller);
    const before = await findMemberAs(tx, caller, user);
    if (before.role === role) return before;
    if (before.role === "admin") await endAdmin(tx, space, user);
    const details = { role, role_before: before.role };
    const entry = { action: "member.update", id: user, name: before.email, details } as const;
    // Before the change: it may be the caller's own role.
    await recordOwn(tx, caller, entry, now());
    await tx.run(saveMemberRole, { space, user, role });
    await refreshQueueOfVoter(tx, afterCommit, { owner: space, user }, now());
    return { ...before, role };
  });
  wakeups.notify("login", user);
  return view(member);
}

/** Access ends at once, also of access tokens that the member created in this team. */
export async function removeMember(
  context: Context,
  caller: UserCaller,
  user: string,
): Promise<void> {
  const { space_id: space } = caller;
  const { now, wakeups } = context;
  if (user !== caller.user_id) checkPermission(caller, "members");
  await writeJobs(context, async (tx, afterCommit) => {
    const { email, role } = await findMemberAs(tx, caller, user);
    if (role === "admin") await endAdmin(tx, space, user);
    const tokens = await tx.all(deleteTokensOf, { space, user });
    const details = { role, access_tokens: tokens.length };
    const entry = { action: "member.remove", id: user, name: email, details } as const;
    // Before the change: the caller may be the one who leaves.
    await recordOwn(tx, caller, entry, now());
    // While PostgreSQL still shows the address of the member.
    await closeInvitationsTo(tx, space, user);
    await tx.run(deleteMember, { space, user });
    await refreshQueueOfVoter(tx, afterCommit, { owner: space, user }, now());
  });
  wakeups.notify("login", user);
}

/** In the change's transaction: of two admins who remove each other, one has lost the right. */
async function checkAdmin(tx: Queries, caller: UserCaller): Promise<void> {
  checkPermission({ ...caller, role: (await findOwn(tx, caller)).role }, "members");
}

async function findOwn(tx: Queries, caller: UserCaller): Promise<MemberRow> {
  const own = await tx.first(findMember, { space: caller.space_id, user: caller.user_id });
  if (own) return own;
  throw new RefusalError("team_not_found", "you are no longer a member of this team");
}

/** The member to change: the caller, or another one if the caller is an admin. */
async function findMemberAs(tx: Queries, caller: UserCaller, user: string): Promise<MemberRow> {
  const { space_id: space, user_id } = caller;
  if (user === user_id) return findOwn(tx, caller);
  await checkAdmin(tx, caller);
  const member = await tx.first(findMember, { space, user });
  if (!member) throw notFound("member");
  return member;
}

/** Refuses to take the role from the last admin, and ends the secrets that an admin has. */
async function endAdmin(tx: Queries, space: string, user: string): Promise<void> {
  if (!(await tx.first(findOtherAdmin, { space, user })))
    throw new RefusalError(
      "last_admin",
      "this is the only admin of the team: make another member admin first, or delete the team",
    );
  await deleteSecretsOfAdmin(tx, { space, user });
}

const view = ({ user_id, email, role, joined_at }: MemberRow): Member => ({
  user_id,
  email,
  role,
  joined_at: time(joined_at),
});
