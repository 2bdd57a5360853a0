/** Where something is that is not in the space of a command. */
import type { Api } from "../api/api.ts";
import { find, type Findable } from "../api/find.ts";
import { teamWords } from "../api/team.ts";
import { CliError } from "../terminal/output.ts";

/** Spaces that are searched. */
const searchedSpaces = 20;

/** Like `find`; the error names another space of the user that has it. */
export async function findIn<T extends Findable>(
  api: Api,
  what: string,
  noun: string,
  list: (api: Api) => Promise<readonly T[]>,
  wanted: string,
  describe?: (item: T) => string | undefined,
): Promise<T> {
  const findWith = async (one: Api): Promise<T> =>
    find(one, what, noun, await list(one), wanted, describe);
  try {
    return await findWith(api);
  } catch (error) {
    const isIn = async (other: Api): Promise<boolean> => (await findWith(other)) !== undefined;
    throw await withSpace(error, api, what, wanted, isIn);
  }
}

/** Returns the error of `find`, or one that names the other space of the user in which it is. */
export async function withSpace(
  error: unknown,
  api: Api,
  what: string,
  wanted: string,
  isIn: (other: Api) => Promise<boolean>,
): Promise<unknown> {
  if (!isNotFound(error)) return error;
  const hint = await spaceHint(api, isIn);
  return hint === "" ? error : new CliError(`There is no ${what} "${wanted}" here.${hint}`);
}

/** Whether `find` has found nothing. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof CliError && error.exitCode === 1 && error.cause === undefined;

/** A sentence, after a space, that names the user's other space with it; "" if there is none. */
export async function spaceHint(api: Api, isIn: (other: Api) => Promise<boolean>): Promise<string> {
  const slug = await otherSpaceWith(api, isIn);
  return slug === undefined ? "" : ` It is in ${spaceName(slug)}: add${teamWords(slug)}`;
}

/** In a sentence; "" is the slug of the personal space. */
export const spaceName = (slug: string): string =>
  slug === "" ? "your personal space" : `the team "${slug}"`;

/** Undefined if there is none or it cannot be found out: it is only for another error's words. */
export async function otherSpaceWith(
  api: Api,
  isIn: (other: Api) => Promise<boolean>,
): Promise<string | undefined> {
  // An access token acts in its own space only.
  if (api.isAccessToken) return undefined;
  const [slug] = await spacesWith(api, isIn).catch(() => []);
  return slug;
}

/** Returns the slugs of the user's other spaces in which something is; "" is the personal one. */
export async function spacesWith(
  api: Api,
  isIn: (other: Api) => Promise<boolean>,
): Promise<string[]> {
  const { teams } = await api.call("listTeams");
  const others = ["", ...teams.map(({ slug }) => slug)].filter((slug) => slug !== (api.team ?? ""));
  const searched = others.slice(0, searchedSpaces);
  const found = await Promise.all(
    searched.map((slug) => isIn(api.inSpace(slug)).catch(() => false)),
  );
  return searched.filter((_, index) => found[index]);
}
