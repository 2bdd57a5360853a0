/** The verbs of `windlass teams members`, `teams invite` and `teams invitations`. */
import { hasNoRole } from "../../protocol/role-names.ts";
import type { Member } from "../../protocol/teams.ts";
import { find } from "../api/find.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { shellWord } from "../../common/shell-word.ts";
import { time } from "../terminal/times.ts";
import { slugOf } from "./acting.ts";
import { asNamed } from "./teams.ts";
import { givenRoles, zoneNames, type RoleOptions } from "./zone-roles.ts";

export async function listMembers(run: Run): Promise<void> {
  const slug = await slugOf(run);
  const { members } = await run.api.call("listMembers", { params: { slug }, query: {} });
  const words = await zoneNames(run.api, run.json ? [] : members);
  run.list(
    members,
    {
      EMAIL: ({ email }) => email,
      ROLE: words,
      BY: sourceOf,
      JOINED: ({ joined_at }) => time(joined_at),
      ID: ({ user_id }) => user_id,
    },
    "The team has no members.",
  );
  const lost = members.find(hasNoRole);
  if (lost)
    run.done(
      `Members without a role had roles only in zones that were deleted or moved. To give one: windlass teams members update ${shellWord(lost.email)} --role viewer --team ${slug}`,
    );
}

/** What makes someone a member; servers before 0.2.0 say nothing of it. */
const sourceOf = ({ sources = [], groups = [] }: Member): string =>
  [
    ...(sources.includes("invited") ? ["invitation"] : []),
    ...groups.map((group) => `group ${group}`),
  ].join(", ");

/** `false`: `--no-role`, `--no-zones`. */
export type MemberOptions = Pick<RoleOptions, "zone"> & {
  readonly role?: RoleOptions["role"] | false;
  readonly zones: boolean;
};

export async function updateMember(run: Run, named: string, options: MemberOptions): Promise<void> {
  const { role, zone, zones } = options;
  if (zone && !zones) throw new CliError("Pass either --zone or --no-zones, not both.", 2);
  const slug = await slugOf(run);
  const { user_id, email } = await memberOf(run, slug, named);
  const isTaking = role === false || !zones;
  const body = {
    ...(isTaking && !role && !zone
      ? {}
      : await givenRoles(run.api, { role: role || undefined, zone })),
    ...(role === false ? { role: null } : {}),
    ...(zones ? {} : { zones: {} }),
  };
  const member = await run.api.call("updateMember", { params: { slug, user_id }, body });
  const words = (await zoneNames(run.api, [member]))(member);
  run.show(member, { email: member.email, role: words, id: member.user_id });
  run.done(`${email} is ${words} of the team "${slug}" from now on.`);
  if (role && member.role !== role)
    run.done(`The invitation gives ${role}, and a group gives more: ${member.groups?.join(", ")}`);
  if (zone || Object.keys(member.zones).length === 0) return;
  if (!zones) run.done(`The roles in zones that are left come from ${sourceOf(member)}.`);
  else if (role)
    run.done(
      `The roles in zones stay. To take them away: windlass teams members update ${shellWord(email)} --no-zones --team ${slug}`,
    );
}

export async function removeMember(
  run: Run,
  named: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  const slug = await slugOf(run);
  const { user_id, email } = await memberOf(run, slug, named);
  await confirm(
    `Remove ${email} from the team "${slug}"? Their access ends at once, and their access tokens in it stop working.`,
    options,
  );
  await run.api.call("removeMember", { params: { slug, user_id } });
  const { members } = await run.api.call("listMembers", { params: { slug }, query: {} });
  const left = members.find((one) => one.user_id === user_id);
  const words = await zoneNames(run.api, left ? [left] : []);
  run.done(
    left
      ? `${email} stays a member of the team "${slug}" as ${words(left)}, by ${sourceOf(left)}.`
      : `${email} is no longer a member of the team "${slug}".`,
  );
}

async function memberOf({ api }: Run, slug: string, named: string): Promise<Member> {
  const { members } = await api.call("listMembers", { params: { slug }, query: {} });
  return find({ team: slug }, "member", "teams members", members.map(asNamed), named);
}

/** `teams invite`: prints a link that works once. */
export async function invite(
  run: Run,
  email: string | undefined,
  options: RoleOptions,
): Promise<void> {
  const slug = await slugOf(run);
  const body = {
    ...(await givenRoles(run.api, options)),
    ...(email === undefined ? {} : { email }),
  };
  const made = await run.api.call("createInvitation", { params: { slug }, body });
  const words = await zoneNames(run.api, [made]);
  run.show(made, {
    link: made.link,
    team: slug,
    role: words(made),
    email: made.email,
    expires: time(made.expires_at),
    id: made.id,
  });
  const who = made.email === null ? "the first person who opens it" : made.email;
  run.done(`\nThe link is not shown again. It works once, for ${who}: send it to them.`);
  if (made.email === null || run.json) return;
  const { members } = await run.api.call("listMembers", { params: { slug }, query: {} });
  const member = members.find((one) => one.email === made.email);
  if (member)
    run.done(
      `${member.email} is a member already, as ${words(member)}. To change the role: windlass teams members update ${shellWord(member.email)} --role ROLE --team ${slug}`,
    );
  const { invitations } = await run.api.call("listInvitations", { params: { slug }, query: {} });
  for (const earlier of invitations.filter((one) => one.email === made.email && one.id !== made.id))
    run.done(
      `An earlier invitation of ${made.email}, as ${words(earlier)}, stays open until ${time(earlier.expires_at)}. To revoke it: windlass teams invitations revoke ${earlier.id} --team ${slug}`,
    );
}

export async function listInvitations(run: Run): Promise<void> {
  const slug = await slugOf(run);
  const params = { slug };
  const { invitations } = await run.api.call("listInvitations", { params, query: {} });
  const words = await zoneNames(run.api, run.json ? [] : invitations);
  run.list(
    invitations,
    {
      EMAIL: ({ email }) => email ?? "anyone with the link",
      ROLE: words,
      EXPIRES: ({ expires_at }) => time(expires_at),
      "CREATED BY": ({ created_by }) => created_by,
      ID: ({ id }) => id,
    },
    `No invitation of this team is open. To invite someone: windlass teams invite --role deployer --team ${slug}`,
  );
}

export async function revokeInvitation(run: Run, named: string): Promise<void> {
  const slug = await slugOf(run);
  const { invitations } = await run.api.call("listInvitations", { params: { slug }, query: {} });
  const all = invitations.map((one) => ({ ...one, name: one.email ?? undefined }));
  const { id } = find(
    { team: slug },
    "invitation",
    "teams invitations",
    all,
    named,
    ({ name, role, expires_at }) =>
      `${name ?? "anyone with the link"}, as ${role ?? "a member in zones"}, until ${time(expires_at)}`,
  );
  await run.api.call("revokeInvitation", { params: { slug, id } });
  run.done("The invitation is revoked. Its link does not work any more.");
}
