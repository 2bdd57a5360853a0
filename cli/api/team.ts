/** Chooses the team in which requests act. */
import { tokenVariable, type ClientSettings } from "../config.ts";
import { CliError } from "../terminal/output.ts";

interface ChosenTeam {
  /** Empty for the personal space, where the setting or the profile has a team. */
  readonly slug: string;
  /** What to do if the server does not know the team, or the user is not a member. */
  readonly remedy: string;
}

export const listTeamsRemedy = "To see your teams: windlass teams list";

/** Says that an access token has a space of its own, as a sentence without its end. */
export const accessTokenText = (settings: Pick<ClientSettings, "isTokenInFile">): string =>
  `${tokenVariable(settings)} is an access token, which acts only in the space in which it was created`;

/**
 * That of `--team`, `WINDLASS_TEAM` or the profile; undefined: the own space. Refuses an empty
 * `--team` with an access token.
 */
export function chooseTeam(
  option: string | undefined,
  settings: Pick<ClientSettings, "team" | "isTokenInFile">,
  { team: ofProfile, isAccessToken }: { team: string | undefined; isAccessToken: boolean },
): ChosenTeam | undefined {
  const { team: setting } = settings;
  const slug = option ?? setting ?? ofProfile;
  if (slug === undefined) return undefined;
  if (slug === "") {
    if (isAccessToken) throw new CliError(`${accessTokenText(settings)}: remove --team ""`, 2);
    return (setting ?? ofProfile) ? { slug, remedy: listTeamsRemedy } : undefined;
  }
  if (!isSlug(slug))
    throw new CliError(`"${slug}" is not the slug of a team. ${listTeamsRemedy}`, 2);
  const source = option === undefined ? "WINDLASS_TEAM" : "--team";
  if (isAccessToken)
    return {
      slug,
      remedy: `${accessTokenText(settings)}: remove ${source}, or use a token of this team`,
    };
  if (option === undefined && setting === undefined)
    return {
      slug,
      remedy: `It is the team of your profile. To choose another one: windlass teams use TEAM, or windlass teams use "" for your personal space`,
    };
  return { slug, remedy: listTeamsRemedy };
}

/** Also of what a server sends: it is printed in commands that people copy. */
export const isSlug = (text: string): boolean => /^[a-z0-9-]{1,40}$/.test(text);

/** Returns the option that a command needs to act in the same team, with a space before it. */
export const teamWords = (team: string | undefined): string =>
  team === undefined ? "" : ` --team ${team || '""'}`;
