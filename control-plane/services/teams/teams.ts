/** Teams. The caller acts in the team already (http/acting.ts). */
import { v7 as uuid } from "uuid";
import type { CreateTeam, Team, UpdateTeam } from "../../../protocol/teams.ts";
import { checkRoom, notFound, RefusalError } from "../../domain/refusal.ts";
import { shownAccess, wholeAccess, zonesText } from "../../domain/roles.ts";
import { countHeldOfOwner } from "../../store/jobs/jobs.ts";
import { countOpenJobs } from "../../store/jobs/lists.ts";
import { allowsAddress } from "../../domain/sign-in-allow.ts";
import type { Queries } from "../../store/db.ts";
import { findFirstUser, listAddressesOf } from "../../store/people/accounts.ts";
import { countTeamsOf, insertMember } from "../../store/teams/members.ts";
import { findFact, issuedSlug } from "../../store/facts.ts";
import { asSystem } from "../../store/spaces.ts";
import {
  deleteTeam as deleteRow,
  findTeam,
  findTeamBySlug,
  findWorkerOf,
  findZoneOf,
  insertTeam,
  listTeamsOf,
  saveTeam,
  type TeamOfMember,
  type TeamRow,
} from "../../store/teams/teams.ts";
import { person, record, recordOwn } from "../audit/audit.ts";
import { spaceOf, type UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { time } from "../../domain/moments.ts";
import { checkCurrentAccess } from "../current-access.ts";
import { checkCount, countRefusal } from "../storage/quotas.ts";
import { checkSubjects } from "../identities/subjects.ts";

export const teamsLimit = 100;

/** A team with its id, which is not part of the wire. */
export interface ListedTeam {
  readonly id: string;
  readonly team: Team;
}

/** A page of GET /api/cli/teams; of an access token, the team that it acts in. */
export async function listTeams(
  { store: { read } }: Context,
  caller: UserCaller,
  before: string | undefined,
  limit: number,
): Promise<ListedTeam[]> {
  const rows = await listTeamsOf(read, caller.user_id, before, limit);
  return rows
    .flatMap((row): TeamOfMember[] => {
      if (caller.login_kind !== "token") return [row];
      const space = spaceOf(caller, row.id);
      return space ? [{ ...row, role: space.role, zones: zonesText(space.zones) }] : [];
    })
    .map((row) => ({ id: row.id, team: view(row) }));
}

export async function createTeam(
  context: Context,
  user: UserCaller,
  { name, slug: asked }: CreateTeam,
): Promise<Team> {
  const at = context.now();
  const slug = asked ?? slugOf(name);
  const team: TeamRow = { id: uuid(), slug, name, created_at: at };
  // As the system: the caller is no member of the new space yet, and a slug may be another team's.
  const created = asSystem(() =>
    context.store.write(async (tx) => {
      await checkTeamCreator(context, tx, user);
      await checkSlug(tx, slug);
      await checkTeamCount(tx, user.user_id);
      await checkCount(context, tx, user.user_id, "teams");
      await insertTeam(tx, team);
      await refuseIssuedSlug(tx, team);
      const role = "admin" as const;
      await insertMember(tx, {
        space_id: team.id,
        user_id: user.user_id,
        role,
        zones: "{}",
        joined_at: at,
        invited_by: null,
        invited_role: role,
        invited_zones: "{}",
        group_role: null,
        group_zones: "{}",
        group_names: "[]",
      });
      const entry = { action: "team.create", id: team.id, name, details: { slug } } as const;
      await record(tx, { by: person(user), owner: team.id, ...entry }, at);
    }),
  );
  await countRefusal(context, created);
  return view({ ...team, role: "admin", zones: "{}" });
}

export async function checkTeamCount(tx: Queries, user: string): Promise<void> {
  const { count = 0 } = (await tx.first(countTeamsOf, { user })) ?? {};
  checkRoom(
    count,
    teamsLimit,
    `you are a member of ${teamsLimit} teams`,
    "leave one of them first",
  );
}

async function checkSlug(tx: Queries, slug: string, id?: string): Promise<void> {
  const found = await tx.first(findTeamBySlug, { slug });
  if (found === undefined || found.id === id) return;
  throw new RefusalError(
    "name_taken",
    `there is a team with the slug "${slug}" on this server: choose another slug`,
  );
}

/**
 * Trust policies of clouds may name the slug. Called after the slug is stored, which waits for a team
 * that is about to lose it, and for the tokens that it is given.
 */
async function refuseIssuedSlug(
  tx: Queries,
  { id, slug }: Pick<TeamRow, "id" | "slug">,
): Promise<void> {
  const space = await findFact(tx, issuedSlug(slug));
  if (space !== undefined && space !== id)
    throw new RefusalError(
      "name_taken",
      `the slug "${slug}" stands in identity tokens of another team, which clouds may still trust: choose another slug`,
    );
}

export async function getTeam({ store: { read } }: Context, user: UserCaller): Promise<Team> {
  const row = await read.first(findTeam, { id: user.space_id });
  if (!row) throw notFound("team");
  return view({ ...row, ...ownRoles(user) });
}

export async function updateTeam(
  { store, now }: Context,
  user: UserCaller,
  change: UpdateTeam,
): Promise<Team> {
  const { space_id: id } = user;
  // As the system, because a slug may be another team's.
  return asSystem(() =>
    store.write(async (tx) => {
      const before = await tx.first(findTeam, { id });
      if (!before) throw notFound("team");
      const after = { ...before, ...change };
      if (change.slug !== undefined) await checkSlug(tx, after.slug, id);
      await saveTeam(tx, after);
      if (after.slug !== before.slug) {
        await refuseIssuedSlug(tx, after);
        await checkSubjects(tx, { owner: id }, "body.slug");
      }
      const details = { fields: Object.keys(change), slug: after.slug };
      await recordOwn(tx, user, { action: "team.update", id, name: after.name, details }, now());
      return view({ ...after, ...ownRoles(user) });
    }),
  );
}

export async function deleteTeam(
  { store, wakeups, now }: Context,
  user: UserCaller,
): Promise<void> {
  const { space_id: id } = user;
  await store.write(async (tx) => {
    const team = await tx.first(findTeam, { id });
    if (!team) throw notFound("team");
    await checkCurrentAccess(tx, user, id, now());
    const left = await findWhatIsLeft(tx, id);
    if (left !== undefined)
      throw new RefusalError(
        "team_not_empty",
        `the team still has ${left}: delete them, or move its zones to another space first`,
      );
    await deleteRow(tx, id);
    const { name, slug } = team;
    // No one can read the log of the team any more.
    const entry = { action: "team.delete", id, name, details: { slug } } as const;
    await record(tx, { by: person(user), owner: user.user_id, ...entry }, now());
  });
  // Ends the event streams of its members.
  wakeups.notify("login", id);
}

async function findWhatIsLeft(tx: Queries, owner: string): Promise<string | undefined> {
  if (await tx.first(findZoneOf, { owner })) return "zones";
  if (await tx.first(findWorkerOf, { owner })) return "workers";
  const isBusy =
    (await countOpenJobs(tx, { owner, status: "QUEUED", limit: 1 })) > 0 ||
    (await tx.first(countHeldOfOwner, { owner })) !== undefined;
  return isBusy ? "jobs that have not ended" : undefined;
}

/** Makes a slug of a name: "Platform & Data" becomes "platform-data". */
function slugOf(name: string): string {
  const plain = name.normalize("NFKD").toLowerCase();
  const slug = plain
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, 40)
    .replaceAll(/^-+|-+$/g, "");
  return slug === "" ? "team" : slug;
}

/** The caller's roles in the team. */
function ownRoles(caller: UserCaller): Pick<TeamOfMember, "role" | "zones"> {
  const own = spaceOf(caller) ?? wholeAccess(caller.role);
  return { role: own.role, zones: zonesText(own.zones) };
}

const view = ({ slug, name, created_at, ...row }: TeamOfMember): Team => ({
  slug,
  name,
  ...shownAccess(row),
  created_at: time(created_at),
});

/** WINDLASS_TEAM_CREATORS, if set, must name a verified address; the first user always may. */
async function checkTeamCreator(
  { teamCreators }: Pick<Context, "teamCreators">,
  tx: Queries,
  { user_id: user }: UserCaller,
): Promise<void> {
  if (teamCreators.length === 0) return;
  if (allowsAddress(teamCreators, await listAddressesOf(tx, user))) return;
  if ((await findFirstUser(tx))?.id === user) return;
  throw new RefusalError(
    "permission_denied",
    "Only some people may create teams on this server (WINDLASS_TEAM_CREATORS): ask its operator",
  );
}
