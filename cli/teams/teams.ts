/** The verbs of `windlass teams`, except those about members and invitations. */
import type { Team } from "../../protocol/teams.ts";
import { findProfile, parseServer } from "../api/api.ts";
import { changeAuth, readAuth, type Profile } from "../api/auth-file.ts";
import { withRemedy } from "../api/failures.ts";
import { accessTokenText } from "../api/team.ts";
import { tokenVariable } from "../config.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { time } from "../terminal/times.ts";
import { refuseLesserRole, slugOf } from "./acting.ts";
import { zoneNames } from "./zone-roles.ts";

interface Yes {
  readonly yes?: true | undefined;
}

export async function list(run: Run): Promise<void> {
  const { teams } = await run.api.call("listTeams");
  run.list(
    // The list of an access token has the one team that it acts in.
    teams.map((team) => ({
      ...team,
      current: run.api.isAccessToken || team.slug === run.api.team,
    })),
    {
      "": ({ current }) => (current ? "*" : " "),
      TEAM: ({ slug }) => slug,
      NAME: ({ name }) => name,
      ROLE: ({ role }) => role,
      CREATED: ({ created_at }) => time(created_at),
    },
    run.api.isAccessToken
      ? "This access token acts in the personal space of its creator, and sees no team."
      : "You are not a member of a team. To create one: windlass teams create NAME",
  );
}

export async function create(
  run: Run,
  name: string,
  { slug }: { readonly slug?: string | undefined },
): Promise<void> {
  const body = { name, ...(slug === undefined ? {} : { slug }) };
  const team = await run.api.call("createTeam", { body }).catch(withSlugOption);
  showTeam(run, team);
  run.done(`To act in it from now on: windlass teams use ${team.slug}`);
}

/** The slug that another team of the server has may have been made from the name. */
function withSlugOption(error: unknown): never {
  throw withRemedy(error, { name_taken: "Pass it with --slug SLUG" });
}

/** `teams show`: the team that is named, else the current one. */
export async function show(run: Run, named: string | undefined): Promise<void> {
  const params = { slug: await slugOf(run, named) };
  const team = await run.api.call("getTeam", { params });
  // Someone with roles in zones only does not see the members.
  const { members } =
    run.json || team.role === null
      ? { members: [] }
      : await run.api.call("listMembers", { params, query: {} });
  // An access token acts in no other space.
  const api = run.api.isAccessToken ? run.api : run.api.inSpace(team.slug);
  const words = await zoneNames(api, run.json ? [] : [team, ...members]);
  showTeam(
    run,
    team,
    members.map((member) => `${member.email} (${words(member)})`),
    words(team),
  );
}

function showTeam(
  run: Run,
  team: Team,
  members: readonly string[] = [],
  role: string = team.role ?? "in zones",
): void {
  run.show(team, {
    team: team.slug,
    name: team.name,
    "your role": role,
    created: time(team.created_at),
    members: members.join("\n"),
  });
}

/** `teams rename`: changes the name, the slug, or both. */
export async function rename(
  run: Run,
  slug: string,
  name: string | undefined,
  options: { readonly slug?: string | undefined },
): Promise<void> {
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(options.slug === undefined ? {} : { slug: options.slug }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. Pass a new name, or --slug.", 2);
  const team = await run.api.call("updateTeam", { params: { slug }, body }).catch(withSlugOption);
  if (team.slug !== slug) await replaceInProfiles(run, slug, team.slug);
  showTeam(run, team);
}

export async function remove(run: Run, slug: string, options: Yes): Promise<void> {
  await refuseLesserRole(run, "admin", await run.api.call("getTeam", { params: { slug } }));
  await confirm(
    `Delete the team "${slug}" with its invitations, access tokens, cloud identities and variable sets?`,
    options,
  );
  await run.api.call("deleteTeam", { params: { slug } });
  await replaceInProfiles(run, slug, undefined);
  run.done(`The team "${slug}" is deleted.`);
}

/** `teams use`: makes a team that of the profile; an empty slug, the personal space. */
export async function use(run: Run, slug: string): Promise<void> {
  const { api, settings, server = settings.url, profile } = run;
  if (settings.token !== undefined && profile === undefined)
    throw new CliError(
      api.isAccessToken
        ? accessTokenText(settings)
        : `${tokenVariable(settings)} is set, so no profile is used. Set WINDLASS_TEAM or pass --team instead.`,
    );
  const team = slug === "" ? undefined : await api.call("getTeam", { params: { slug } });
  await changeAuth(settings.directory, (before) => {
    const found = findProfile(before, {
      name: profile,
      server: server === undefined ? undefined : parseServer(server),
    });
    if (!found) throw new CliError("You are not signed in. Run: windlass login --server https://…");
    const [name, one] = found;
    return { ...before, profiles: { ...before.profiles, [name]: { ...one, team: team?.slug } } };
  });
  run.done(
    team
      ? `You act in the team "${team.name}" from now on, as ${team.role ?? "a member in some of its zones"}.`
      : "You act in your personal space from now on.",
  );
  if (settings.team !== undefined)
    run.done(`But WINDLASS_TEAM is set to ${settings.team}, which takes precedence.`);
}

export async function leave(run: Run, slug: string, options: Yes): Promise<void> {
  const { email, userId: user_id } = run.api;
  if (email === undefined || user_id === undefined)
    throw new CliError(
      `${tokenVariable(run.settings)} is set, and only a user who is signed in can leave a team. Unset ${tokenVariable(run.settings)}.`,
    );
  await confirm(`Leave the team "${slug}"? Your access tokens in it stop working.`, options);
  await run.api.call("removeMember", { params: { slug, user_id } });
  await replaceInProfiles(run, slug, undefined, email);
  run.done(`You have left the team "${slug}".`);
}

/** A member as `find` finds it: by the address or the id. */
export const asNamed = <M extends { readonly user_id: string; readonly email: string }>(
  member: M,
) => ({ ...member, id: member.user_id, name: member.email });

/** In the profiles of this server that have it. `email`: only in those of this user. */
async function replaceInProfiles(
  run: Run,
  slug: string,
  next: string | undefined,
  email?: string,
): Promise<void> {
  const { directory } = run.settings;
  const isIt = (one: Profile): boolean =>
    one.server === run.api.server &&
    one.team === slug &&
    (email === undefined || one.user_email === email);
  if (!Object.values(readAuth(directory).profiles).some(isIt)) return;
  await changeAuth(directory, (before) => ({
    ...before,
    profiles: Object.fromEntries(
      Object.entries(before.profiles).map(([name, one]) => [
        name,
        isIt(one) ? { ...one, team: next } : one,
      ]),
    ),
  }));
}
