/** Which groups of sign-in providers a team admits. The caller acts in the team. */
import { hash } from "node:crypto";
import type { ReplaceTeamGroups, TeamGroups } from "../../../protocol/teams.ts";
import { accountHost, isOidc, oidcNames, type Providers } from "../../domain/providers.ts";
import { invalid, RefusalError } from "../../domain/refusal.ts";
import { auditedRoles, shownAccess, storedAccess, zonesText } from "../../domain/roles.ts";
import type { Queries } from "../../store/db.ts";
import { asSystem } from "../../store/spaces.ts";
import {
  countTeamsOfGroup,
  listTeamGroups as listRows,
  saveTeamGroups,
  type TeamGroupRow,
} from "../../store/teams/groups.ts";
import { findOtherAdmin } from "../../store/teams/members.ts";
import { findTeam } from "../../store/teams/teams.ts";
import { recordOwn } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { writeJobs } from "../job-changes/changes.ts";
import { applyGroupsOfTeam } from "./group-members.ts";
import { checkZones, givenAccess } from "./zone-roles.ts";

/** How many teams may admit one group. */
export const teamsPerGroupLimit = 100;
/** How many groups an audit entry names. */
const namedLimit = 20;

export async function listTeamGroups(
  { store: { read } }: Context,
  { space_id: space }: UserCaller,
): Promise<TeamGroups> {
  return view(await read.all(listRows, { space }));
}

/**
 * Replaces all groups of the team, and applies them at once to everyone whose groups are known. A
 * change that depends on the groups is passed as a function of them.
 */
export async function replaceTeamGroups(
  context: Context,
  caller: UserCaller,
  asked: ReplaceTeamGroups | ((before: TeamGroups) => ReplaceTeamGroups),
): Promise<TeamGroups> {
  const { space_id: space } = caller;
  const now = context.now();
  // As the system: people who join are not yet seen from the team.
  return asSystem(() =>
    writeJobs(context, async (tx, afterCommit) => {
      const before = await tx.all(listRows, { space });
      const seen = view(before);
      const { groups, version = seen.version } = typeof asked === "function" ? asked(seen) : asked;
      if (version !== seen.version)
        throw new RefusalError(
          "changed_meanwhile",
          "the groups of the team were changed meanwhile: read them again, then repeat your change",
        );
      const after = rowsOf(context.providers, space, groups, before, now);
      for (const row of after) await checkTeamsOfGroup(tx, row);
      await checkZones(tx, space, ...after.map(storedAccess));
      const { name = null } = (await tx.first(findTeam, { id: space })) ?? {};
      const details = changesOf(before, after);
      const entry = { action: "team.set_groups", id: space, name, details } as const;
      await recordOwn(tx, caller, entry, now);
      await saveTeamGroups(tx, space, after);
      await applyGroupsOfTeam(tx, afterCommit, space, after, now);
      if (!(await tx.first(findOtherAdmin, { space, user: "" })))
        throw new RefusalError(
          "last_admin",
          "with these groups, the team would have no admin: invite an admin first, or keep the group of one",
        );
      return view(await tx.all(listRows, { space }));
    }),
  );
}

/** Throws 400 for a provider that is neither configured nor in the team's list already. */
function rowsOf(
  providers: Providers,
  space_id: string,
  groups: ReplaceTeamGroups["groups"],
  before: readonly TeamGroupRow[],
  now: number,
): TeamGroupRow[] {
  const seen = new Set<string>();
  return groups.map(({ issuer: given, group: name, ...roles }, index) => {
    const path = `body.groups.${index}`;
    const provider = findIssuer(providers, given) ?? before.find(({ issuer }) => issuer === given);
    if (!provider)
      throw invalid(
        `${path}.issuer`,
        `is no OpenID Connect provider of this server, which has ${known(providers)}`,
      );
    const { host, issuer } = provider;
    if (seen.has(JSON.stringify([host, name])))
      throw invalid(`${path}.group`, `is in the list before: "${name}" of ${issuer}`);
    seen.add(JSON.stringify([host, name]));
    const created_at = before.find((row) => row.host === host && row.name === name)?.created_at;
    const { role, zones } = givenAccess(roles, `${path}.role`, ` of the group "${name}"`);
    const shown = { role, zones: zonesText(zones) };
    return { space_id, host, name, issuer, ...shown, created_at: created_at ?? now };
  });
}

/** By its name in the settings, or its address. */
function findIssuer(
  providers: Providers,
  given: string,
): Pick<TeamGroupRow, "host" | "issuer"> | undefined {
  for (const name of oidcNames) {
    const settings = providers[name];
    if (settings?.baseUrl === undefined) continue;
    const [host, issuer] = [accountHost(name, settings), settings.baseUrl];
    const isNamed = isOidc(given) ? given === name : trimmed(given) === trimmed(issuer);
    if (isNamed) return { host, issuer };
  }
  return undefined;
}

const trimmed = (address: string): string => address.replace(/\/+$/, "");

function known(providers: Providers): string {
  const names = oidcNames.filter((name) => providers[name] !== undefined);
  return names.length === 0
    ? "none (WINDLASS_OIDC_ISSUER)"
    : names.map((name) => `${name} (${providers[name]?.baseUrl})`).join(", ");
}

async function checkTeamsOfGroup(tx: Queries, row: TeamGroupRow): Promise<void> {
  const { host, name, space_id: space } = row;
  const { count = 0 } = (await tx.first(countTeamsOfGroup, { host, name, space })) ?? {};
  if (count < teamsPerGroupLimit) return;
  throw new RefusalError(
    "quota_exceeded",
    `${count} teams of this server admit the group "${name}", which is the limit`,
  );
}

const text = ({ issuer, name, ...row }: TeamGroupRow): string => {
  const { role, zones = [] } = auditedRoles(row);
  return `${[role, ...zones].join(", ")}: ${name} of ${issuer}`;
};

/** Some of the groups that others lack. */
const lacking = (some: readonly TeamGroupRow[], others: readonly TeamGroupRow[]): string[] => {
  const known = new Set(others.map(text));
  return some
    .map(text)
    .filter((one) => !known.has(one))
    .slice(0, namedLimit);
};

/** For the audit log: how many there are, and some of those that changed. */
function changesOf(before: readonly TeamGroupRow[], after: readonly TeamGroupRow[]) {
  return { groups: after.length, added: lacking(after, before), removed: lacking(before, after) };
}

function view(rows: readonly TeamGroupRow[]): TeamGroups {
  const groups = rows.map(({ issuer, name, ...row }) => ({
    issuer,
    group: name,
    ...shownAccess(row),
  }));
  return { groups, version: hash("sha256", JSON.stringify(groups), "base64url").slice(0, 16) };
}
