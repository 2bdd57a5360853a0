/** The verbs of `windlass teams groups`. */
import type { TeamGroup, TeamGroups } from "../../protocol/teams.ts";
import { hasFaultAt } from "../api/failures.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { slugOf } from "./acting.ts";
import { givenRoles, zoneNames, type RoleOptions } from "./zone-roles.ts";

interface OfProvider {
  readonly issuer?: string | undefined;
}

export async function listGroups(run: Run): Promise<void> {
  const slug = await slugOf(run);
  const { groups } = await run.api.call("listTeamGroups", { params: { slug } });
  const words = await zoneNames(run.api, run.json ? [] : groups);
  run.list(
    groups,
    {
      GROUP: ({ group }) => group,
      ROLE: words,
      PROVIDER: ({ issuer }) => issuer,
    },
    `The team admits no groups. To admit one: windlass teams groups add GROUP --role deployer --team ${slug}`,
  );
}

/** `teams groups add`: admits a group, or changes what it gives. */
export async function addGroup(
  run: Run,
  group: string,
  { issuer, ...options }: OfProvider & RoleOptions,
): Promise<void> {
  const slug = await slugOf(run);
  const before = await groupsOf(run, slug);
  const known = matching(before.groups, group, issuer);
  // Without a provider, that of the group which is in the list, or the first one of the server.
  const { role = null, zones = {} } = await givenRoles(run.api, options);
  const added = { group, role, zones, issuer: issuer ?? known[0]?.issuer ?? "oidc" };
  if (issuer === undefined && known.length > 1) throw addressNeeded(group, known);
  await replaceIn(run, slug, before, known, added);
  const words = (await zoneNames(run.api, [added]))(added);
  run.done(
    `People in the group "${group}" are ${words} of the team "${slug}": at once if they have signed in, others when they do.`,
  );
}

/** `teams groups remove`. */
export async function removeGroup(
  run: Run,
  group: string,
  { issuer, yes }: OfProvider & { readonly yes?: true | undefined },
): Promise<void> {
  const slug = await slugOf(run);
  const before = await groupsOf(run, slug);
  const known = matching(before.groups, group, issuer);
  if (known.length === 0) {
    // A provider by its name in the server's settings is known to the server only.
    const listed = issuer !== undefined && isName(issuer) ? matching(before.groups, group) : [];
    if (listed.length > 0) throw addressNeeded(group, listed);
    throw new CliError(
      `The team "${slug}" does not admit the group "${group}". See: windlass teams groups list --team ${slug}`,
    );
  }
  if (known.length > 1) throw addressNeeded(group, known);
  await confirm(
    `Remove the group "${group}" from the team "${slug}"? Members who have nothing else leave it at once, and their access tokens in it stop working.`,
    { yes },
  );
  const groups = before.groups.filter((one) => !known.includes(one));
  await replace(run, slug, { ...before, groups });
  run.done(
    `The group "${group}" gives nothing any more. Members who had nothing else have left the team "${slug}".`,
  );
}

const groupsOf = ({ api }: Run, slug: string): Promise<TeamGroups> =>
  api.call("listTeamGroups", { params: { slug } });

/**
 * Stores the list with a group in place of those that are known. The server refuses a provider by its
 * name if the list has the group with its address: if the list has one, that is the one.
 */
async function replaceIn(
  run: Run,
  slug: string,
  before: TeamGroups,
  known: readonly TeamGroup[],
  added: TeamGroup,
): Promise<void> {
  const others = before.groups.filter((one) => !known.includes(one));
  const listed = isName(added.issuer) ? matching(others, added.group) : [];
  await replace(run, slug, { ...before, groups: [...others, added] }).catch(
    async (error: unknown) => {
      const isDuplicate = hasFaultAt(error, `body.groups.${others.length}.group`);
      const [only, ...more] = listed;
      if (!isDuplicate || only === undefined) throw error;
      if (more.length > 0) throw addressNeeded(added.group, listed);
      const rest = others.filter((one) => one !== only);
      const groups = [...rest, { ...added, issuer: only.issuer }];
      await replace(run, slug, { ...before, groups });
    },
  );
}

const isName = (issuer: string): boolean => !issuer.includes(":");

const matching = (groups: readonly TeamGroup[], group: string, issuer?: string) =>
  groups.filter(
    (one) => one.group === group && (issuer === undefined || one.issuer === withoutSlash(issuer)),
  );

const withoutSlash = (address: string): string => address.replace(/\/+$/, "");

/** Refused if another user has changed the groups since they were read. */
async function replace(run: Run, slug: string, body: TeamGroups): Promise<void> {
  const stored = await run.api.call("replaceTeamGroups", { params: { slug }, body });
  if (run.json) run.show(stored, {});
}

const addressNeeded = (group: string, known: readonly TeamGroup[]): CliError =>
  new CliError(
    `The team admits the group "${group}" by its provider's address. Pass that with --issuer: ${known.map(({ issuer }) => issuer).join(", ")}`,
    2,
  );
