/** Members of a team. The caller acts in the team. */
import type { Member, UpdateMember } from "../../../protocol/teams.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { checkPermission, shownAccess } from "../../domain/roles.ts";
import type { Queries } from "../../store/db.ts";
import { findMember, listMembers as listRows, type MemberRow } from "../../store/teams/members.ts";
import { person } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { time } from "../../domain/moments.ts";
import { changeMember, checkOtherAdmin, type ChangedMember } from "./membership.ts";
import { checkZones, givenAccess } from "./zone-roles.ts";

export async function listMembers(
  { store: { read } }: Context,
  { space_id }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Member[]> {
  return (await listRows(read, space_id, before, limit)).map(view);
}

/** A change that depends on what the invitation gave is passed as a function of it. */
export async function updateMember(
  context: Context,
  caller: UserCaller,
  user: string,
  asked: UpdateMember | ((invited: Pick<Member, "zones">) => UpdateMember),
): Promise<Member> {
  const { now } = context;
  const member = await writeJobs(context, async (tx, afterCommit) => {
    await checkAdmin(tx, caller);
    const before = await findInvited(tx, caller, user);
    const given = shownAccess({ role: before.invited_role!, zones: before.invited_zones });
    const input = typeof asked === "function" ? asked(given) : asked;
    const access = givenAccess({ ...given, ...input });
    if (input.zones !== undefined) await checkZones(tx, before.space_id, access);
    if (before.role === "admin" && access.role !== "admin" && before.group_role !== "admin")
      await checkOtherAdmin(tx, before.space_id, user);
    const invited = { access, by: before.invited_by };
    return changeMember(tx, afterCommit, changed(caller, before), { invited }, now());
  });
  return view(member!);
}

/** What an invitation gave ends at once. A member who has it by groups too stays one. */
export async function removeMember(
  context: Context,
  caller: UserCaller,
  user: string,
): Promise<void> {
  const { now } = context;
  if (user !== caller.user_id) checkPermission(caller, "members");
  await writeJobs(context, async (tx, afterCommit) => {
    const before = await findInvited(tx, caller, user);
    if (before.role === "admin" && before.group_role !== "admin")
      await checkOtherAdmin(tx, before.space_id, user);
    await changeMember(tx, afterCommit, changed(caller, before), { invited: null }, now());
  });
}

const changed = (caller: UserCaller, member: MemberRow): ChangedMember => ({
  space: member.space_id,
  user: member.user_id,
  name: member.email,
  by: person(caller),
});

/** Throws 409 if only groups make the person a member: that changes only with them. */
async function findInvited(tx: Queries, caller: UserCaller, user: string): Promise<MemberRow> {
  const member = await findMemberAs(tx, caller, user);
  if (member.invited_role !== null) return member;
  throw new RefusalError(
    "member_by_group",
    `${member.email} is a member by the groups ${groupsOf(member).join(", ")}: change them at the sign-in provider, or the groups of the team`,
  );
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

const groupsOf = ({ group_names }: MemberRow): string[] => JSON.parse(group_names) as string[];

const view = (row: MemberRow): Member => ({
  user_id: row.user_id,
  email: row.email,
  ...shownAccess(row),
  joined_at: time(row.joined_at),
  sources: [
    ...(row.invited_role === null ? [] : (["invited"] as const)),
    ...(row.group_role === null ? [] : (["group"] as const)),
  ],
  groups: groupsOf(row),
});
