/** Members of teams by groups of sign-in providers: what the providers said last decides. */
import { day } from "../../../common/units.ts";
import { teamGroupsLimit } from "../../../protocol/limits.ts";
import { zoneRolesLimit } from "../../../protocol/role-names.ts";
import { higherAccess, storedAccess, zonesText, type Access } from "../../domain/roles.ts";
import type { Queries } from "../../store/db.ts";
import { findUserEmail, updateAccount } from "../../store/people/accounts.ts";
import {
  listGroupedAccounts,
  listGroupedAt,
  listGroupsOf,
  listOldGroups,
  type TeamGroupRow,
} from "../../store/teams/groups.ts";
import {
  countMembers,
  findMember,
  listGroupMemberships,
  listMemberIds,
} from "../../store/teams/members.ts";
import { system } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { writeJobs, type AfterCommit } from "../job-changes/changes.ts";
import { changeMember, membersLimit } from "./membership.ts";

/** Of how many teams groups make one person a member: those that admitted the groups first. */
export const teamsByGroupsLimit = 100;
/** How many people without a membership are looked at when the groups of a team change. */
const newMembersLimit = membersLimit;
const pageSize = 200;
/** How long groups count without an answer of their provider. */
export const groupDays = 30;

/** What groups give in one team. */
export interface GivenByGroups {
  readonly space: string;
  readonly access: Access;
  readonly names: readonly string[];
}

/** The memberships that a user should have by groups, at most `teamsByGroupsLimit`. */
export async function membershipsByGroups(
  queries: Queries,
  accounts: readonly { readonly host: string; readonly groups: string | null }[],
): Promise<GivenByGroups[]> {
  const found = await Promise.all(
    accounts.map(({ host, groups }) => {
      const limit = teamsByGroupsLimit * teamGroupsLimit;
      return queries.all(listGroupsOf, { host, names: groups ?? "[]", limit });
    }),
  );
  const bySpace = new Map<string, TeamGroupRow[]>();
  for (const row of found.flat())
    bySpace.set(row.space_id, [...(bySpace.get(row.space_id) ?? []), row]);
  return [...bySpace].slice(0, teamsByGroupsLimit).map(([space, rows]) => ({
    space,
    access: limited(higherAccess(rows.map(storedAccess))!),
    names: [...new Set(rows.map(({ name }) => name))].toSorted(),
  }));
}

/** Each request of the person reads its roles in zones. */
const limited = ({ role, zones }: Access): Access => ({
  role,
  zones: new Map([...zones].slice(0, zoneRolesLimit)),
});

/**
 * Lets a user join, change and leave teams as the groups of all accounts say. In a transaction of the
 * system: the user may be a member of none of the teams yet. A full team admits no one.
 */
export async function applyGroups(
  tx: Queries,
  afterCommit: AfterCommit,
  user: string,
  now: number,
): Promise<void> {
  const given = await membershipsByGroups(tx, await tx.all(listGroupedAccounts, { user }));
  const email = await tx.first(findUserEmail, { user });
  if (!email) return;
  const change = { user, name: email.email, by: system };
  for (const { space_id: space, group_names } of await tx.all(listGroupMemberships, { user })) {
    if (given.some((one) => one.space === space)) continue;
    const details = { groups_before: JSON.parse(group_names) as string[] };
    await changeMember(tx, afterCommit, { ...change, space, details }, { groups: null }, now);
  }
  for (const { space, access, names } of given) {
    const before = await tx.first(findMember, { space, user });
    const isSame =
      before?.group_role === access.role &&
      before.group_zones === zonesText(access.zones) &&
      before.group_names === JSON.stringify(names);
    if (isSame) continue;
    if (!before && (await isFull(tx, space))) continue;
    const details = { groups: names };
    const groups = { access, names };
    await changeMember(tx, afterCommit, { ...change, space, details }, { groups }, now);
  }
}

export const isFull = async (queries: Queries, space: string): Promise<boolean> =>
  ((await queries.first(countMembers, { space }))?.count ?? 0) >= membersLimit;

/** The same for everyone whose membership in a team changes with its new groups. In a transaction. */
export async function applyGroupsOfTeam(
  tx: Queries,
  afterCommit: AfterCommit,
  space: string,
  groups: readonly Pick<TeamGroupRow, "host" | "name">[],
  now: number,
): Promise<void> {
  const members = await tx.all(listMemberIds, { space });
  const people = await findPeople(tx, groups);
  for (const { user_id: user, group_role } of members)
    if (people.delete(user) || group_role !== null) await applyGroups(tx, afterCommit, user, now);
  for (const user of [...people].slice(0, newMembersLimit)) {
    if (await isFull(tx, space)) break;
    await applyGroups(tx, afterCommit, user, now);
  }
}

/** The users who are in one of these groups, by what their providers said last. */
async function findPeople(
  tx: Queries,
  groups: readonly Pick<TeamGroupRow, "host" | "name">[],
): Promise<Set<string>> {
  const people = new Set<string>();
  for (const host of new Set(groups.map((one) => one.host))) {
    const names = new Set(groups.filter((one) => one.host === host).map(({ name }) => name));
    for (let after = ""; ;) {
      const page = await tx.all(listGroupedAt, { host, after, limit: pageSize });
      for (const { user_id, groups: known } of page)
        if ((JSON.parse(known ?? "[]") as string[]).some((name) => names.has(name)))
          people.add(user_id);
      if (page.length < pageSize) break;
      after = page.at(-1)!.subject;
    }
  }
  return people;
}

/** Forgets groups of which their provider has said nothing for too long, and what they gave. */
export async function forgetOldGroups(context: Context, signal: AbortSignal): Promise<void> {
  const before = context.now() - groupDays * day;
  while (!signal.aborted) {
    const forgotten = await writeJobs(context, async (tx, afterCommit) => {
      const accounts = await tx.all(listOldGroups, { before, limit: pageSize });
      for (const { host, subject, user_id } of accounts) {
        const id = { provider: "oidc", host, subject } as const;
        await updateAccount(tx, id, { groups: "[]", groups_at: null });
        await applyGroups(tx, afterCommit, user_id, context.now());
      }
      return accounts.length;
    });
    if (forgotten < pageSize) break;
  }
}
