import { v7 as uuid } from "uuid";
import { day } from "../../../common/units.ts";
import { invitationDays } from "../../../protocol/limits.ts";
import type { CreatedInvitation, CreateInvitation, Invitation } from "../../../protocol/teams.ts";
import { lowerCase } from "../../domain/sign-in-allow.ts";
import { checkRoom, notFound, RefusalError } from "../../domain/refusal.ts";
import { auditedRoles, shownAccess, storedAccess, zonesText } from "../../domain/roles.ts";
import { hashToken, newToken } from "../../domain/tokens.ts";
import type { Queries } from "../../store/db.ts";
import { asSystem } from "../../store/spaces.ts";
import { listAddressesOf } from "../../store/people/accounts.ts";
import {
  countOpenInvitations,
  deleteInvitation,
  findInvitationByToken,
  insertInvitation,
  listOpenInvitations,
  useInvitation,
  type InvitationRow,
  type OpenedInvitation,
} from "../../store/teams/invitations.ts";
import { countMembers, findMember, type MemberRow } from "../../store/teams/members.ts";
import { person, recordOwn, type Actor } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { writeJobs, type AfterCommit } from "../job-changes/changes.ts";
import { time } from "../../domain/moments.ts";
import { changeMember, closeInvitationsTo, membersLimit } from "./membership.ts";
import { checkTeamCount } from "./teams.ts";
import { checkZones, givenAccess } from "./zone-roles.ts";

export const invitationsLimit = 100;

const linkPath = "/invitations/";

export async function createInvitation(
  { store, now, publicUrl }: Context,
  user: UserCaller,
  { email: asked, ...roles }: CreateInvitation,
): Promise<CreatedInvitation> {
  const access = givenAccess(roles);
  const token = newToken("wli");
  const created_at = now();
  const { space_id, user_id } = user;
  const email = asked ? lowerCase(asked) : null;
  const row = {
    id: uuid(),
    space_id,
    token_hash: hashToken(token),
    role: access.role,
    zones: zonesText(access.zones),
    email,
    created_by: user_id,
    created_at,
    expires_at: created_at + invitationDays * day,
    used_at: null,
  };
  await store.write(async (tx) => {
    const { count = 0 } =
      (await tx.first(countOpenInvitations, { space: space_id, now: created_at })) ?? {};
    const advice = "revoke those that are not needed";
    checkRoom(
      count,
      invitationsLimit,
      `${invitationsLimit} invitations of this team are open`,
      advice,
    );
    await checkZones(tx, space_id, access);
    await insertInvitation(tx, row);
    const details = auditedRoles(row);
    const entry = { action: "invitation.create", id: row.id, name: email, details } as const;
    await recordOwn(tx, user, entry, created_at);
  });
  return { ...view({ ...row, inviter: user.email }), link: `${publicUrl()}${linkPath}${token}` };
}

export async function listInvitations(
  { store: { read }, now }: Context,
  { space_id: space }: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<Invitation[]> {
  return (await listOpenInvitations(read, { space, now: now() }, before, limit)).map(view);
}

export async function revokeInvitation(
  { store, now }: Context,
  user: UserCaller,
  id: string,
): Promise<void> {
  await store.write(async (tx) => {
    const revoked = await tx.first(deleteInvitation, { id, space: user.space_id, now: now() });
    if (!revoked) throw notFound("open invitation");
    const { email: name } = revoked;
    const details = auditedRoles(revoked);
    const entry = { action: "invitation.revoke", id, name, details } as const;
    await recordOwn(tx, user, entry, now());
  });
}

/** What the page of a link shows. */
export interface ShownInvitation extends Omit<Invitation, "id"> {
  readonly team: { readonly name: string; readonly slug: string };
  readonly isMember: boolean;
  /** Whether it is for the caller, by a verified address. */
  readonly isForCaller: boolean;
}

/** Throws 404, or 409 for a used one. Read as the system: the team is not yet the caller's. */
export const openInvitation = (
  context: Context,
  caller: UserCaller,
  token: string,
): Promise<ShownInvitation> => asSystem(() => readInvitation(context, caller, token));

async function readInvitation(
  { store: { read }, now }: Context,
  { user_id: user }: UserCaller,
  token: string,
): Promise<ShownInvitation> {
  const row = await read.first(findInvitationByToken, { token_hash: hashToken(token) });
  const invitation = checkOpen(row, now());
  const { space_id: space, team_name: name, team_slug: slug } = invitation;
  return {
    ...view(invitation),
    team: { name, slug },
    isMember: isInvited(await read.first(findMember, { space, user })),
    isForCaller: isFor(invitation, await listAddressesOf(read, user)),
  };
}

/** Undefined unless a person with these verified addresses may sign up by it. */
export async function findSignUp(
  { store: { read }, now }: Context,
  path: string,
  addresses: readonly string[],
): Promise<{ readonly token: string; readonly team: string } | undefined> {
  if (!path.startsWith(linkPath)) return undefined;
  const token = path.slice(linkPath.length);
  const found = await read.first(findInvitationByToken, { token_hash: hashToken(token) });
  const isOpen = found !== undefined && found.used_at === null && found.expires_at > now();
  return isOpen && isFor(found, addresses) ? { token, team: found.team_slug } : undefined;
}

/** Uses the link up. A member keeps the role, and the link. Returns the team's slug. */
export async function acceptInvitation(
  context: Context,
  caller: UserCaller,
  token: string,
): Promise<string> {
  const { now } = context;
  const { user_id: id, email } = caller;
  const { slug } = await asSystem(() =>
    writeJobs(context, (tx, afterCommit) =>
      joinTeam(tx, afterCommit, { user: { id, email }, by: person(caller) }, token, now()),
    ),
  );
  return slug;
}

/** Who joins a team, and as whom the audit log names them. */
export interface Joining {
  readonly user: { readonly id: string; readonly email: string };
  readonly by: Actor;
}

/** Joins in a transaction. Returns also whether the person had not been invited before. */
export async function joinTeam(
  tx: Queries,
  afterCommit: AfterCommit,
  { user: { id: user, email: name }, by }: Joining,
  token: string,
  now: number,
): Promise<{ slug: string; isNew: boolean }> {
  const row = await tx.first(findInvitationByToken, { token_hash: hashToken(token) });
  const invitation = checkOpen(row, now);
  const { id, space_id: space, team_slug: slug } = invitation;
  const before = await tx.first(findMember, { space, user });
  if (isInvited(before)) return { slug, isNew: false };
  await checkAddress(tx, invitation, user);
  await checkTeamCount(tx, user);
  const { count = 0 } = (await tx.first(countMembers, { space })) ?? {};
  const has = `the team has ${membersLimit} members`;
  if (!before) checkRoom(count, membersLimit, has, "ask an admin to remove one");
  if (!(await tx.first(useInvitation, { id, now }))) throw usedInvitation();
  await closeInvitationsTo(tx, space, user);
  const details = { invitation_id: id, invited_by: invitation.inviter };
  const invited = { access: storedAccess(invitation), by: invitation.created_by };
  await changeMember(tx, afterCommit, { space, user, name, by, details }, { invited }, now);
  return { slug, isNew: true };
}

/** Groups alone leave an invitation of use: it stays when they go. */
const isInvited = (member: MemberRow | undefined): boolean =>
  member !== undefined && member.invited_role !== null;

function checkOpen(row: OpenedInvitation | undefined, now: number): OpenedInvitation {
  if (!row || (row.used_at === null && row.expires_at <= now))
    throw new RefusalError(
      "not_found",
      "this invitation does not exist, was revoked or has expired: ask for a new one",
    );
  if (row.used_at !== null) throw usedInvitation();
  return row;
}

const usedInvitation = (): RefusalError =>
  new RefusalError(
    "invitation_used",
    "this invitation has been used. If it was not by you, ask for a new one",
  );

async function checkAddress(
  tx: Queries,
  invitation: OpenedInvitation,
  user: string,
): Promise<void> {
  if (isFor(invitation, await listAddressesOf(tx, user))) return;
  throw new RefusalError(
    "permission_denied",
    `This invitation is for ${invitation.email}: sign in with an account that has this verified address`,
  );
}

const isFor = ({ email }: Pick<InvitationRow, "email">, addresses: readonly string[]): boolean =>
  email === null || addresses.some((address) => lowerCase(address) === email);

const view = ({ id, email, expires_at, inviter, ...row }: InvitationRow): Invitation => ({
  id,
  ...shownAccess(row),
  email,
  expires_at: time(expires_at),
  created_by: inviter,
});
