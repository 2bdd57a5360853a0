/** Where something is that is not in the space of a command. */
import type { Api } from "../api/api.ts";

/** Spaces that are searched. */
const searchedSpaces = 20;

/**
 * Returns a sentence, with a space before it, that names the other space of the user in which
 * something is; an empty text if it is in none.
 */
export async function spaceHint(api: Api, isIn: (other: Api) => Promise<boolean>): Promise<string> {
  // An access token acts in its own space only.
  if (api.isAccessToken) return "";
  try {
    const [slug] = await spacesWith(api, isIn);
    if (slug === undefined) return "";
    return slug === ""
      ? ' It is in your personal space: add --team ""'
      : ` It is in the team "${slug}": add --team ${slug}`;
  } catch {
    return "";
  }
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
