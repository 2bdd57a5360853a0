/** Finds a resource by its name, its id or the beginning of its id. */
import { isClose } from "../../common/spelling.ts";
import { CliError } from "../terminal/output.ts";
import { shellWordsOr } from "../../common/shell-word.ts";
import { idPrefixOf } from "./ids.ts";
import { teamWords } from "./team.ts";

export interface Findable {
  readonly id: string;
  /** What has no name is found by its id. */
  readonly name?: string | undefined;
}

/**
 * By name, id, or the beginning of an id that no other has. Throws `CliError` with similar names,
 * as `nameAs` writes them, or with all that match.
 */
export function find<T extends Findable>(
  { team }: { readonly team: string | undefined },
  what: string,
  noun: string,
  all: readonly T[],
  wanted: string,
  describe: (item: T) => string | undefined = ({ name }) => name,
  nameAs: (name: string) => string = (name) => name,
): T {
  // An id takes precedence, so that no name can hide another item; then a name, because a name can
  // look like the beginning of an id.
  const id = wanted.toLowerCase();
  const byId = all.find((one) => one.id === id);
  if (byId) return byId;
  const exact = all.filter(({ name }) => name === wanted);
  const [named, ...namesakes] = exact.length > 0 ? exact : all.filter(isComposedOf(wanted));
  if (named && namesakes.length === 0) return named;
  if (named)
    throw new CliError(
      `Several ${pluralOf(noun)} are named "${wanted}". Pass the id of one:${listed([named, ...namesakes], describe)}`,
      2,
    );
  const prefix = idPrefixOf(wanted);
  const [first, ...others] =
    prefix === undefined ? [] : all.filter((one) => digitsOf(one.id).startsWith(digitsOf(prefix)));
  if (first && others.length === 0) return first;
  if (first) throw ambiguous(noun, wanted, [first, ...others], describe);
  const close = all.flatMap(({ name }) => name ?? []).filter((name) => isClose(name, wanted));
  const hint =
    close.length > 0
      ? `Did you mean ${shellWordsOr(close.slice(0, 3).map(nameAs))}?`
      : `To see what exists: windlass ${noun} list${teamWords(team)}`;
  throw new CliError(`There is no ${what} "${wanted}". ${hint}`);
}

/** What a noun of the command line such as `teams invitations` or `variable-sets` is in a sentence. */
const pluralOf = (noun: string): string => (noun.split(" ").at(-1) ?? noun).replaceAll("-", " ");

/** The server stores names in the composed form, which looks the same. */
const isComposedOf = (wanted: string) => {
  const composed = wanted.normalize("NFC");
  return ({ name }: Findable): boolean => name === composed;
};

/** Not all ids have hyphens. */
const digitsOf = (id: string): string => id.replaceAll("-", "");

/** How many of the items that begin alike a message lists. */
export const listedAtMost = 5;

/** The error for the beginning of several ids, with these ids. */
export function ambiguous<T extends { readonly id: string }>(
  noun: string,
  prefix: string,
  all: readonly T[],
  describe: (item: T) => string | undefined,
): CliError {
  return new CliError(
    `Several ${pluralOf(noun)} have ids that begin with ${prefix}. Type more of the id:${listed(all, describe)}`,
    2,
  );
}

function listed<T extends { readonly id: string }>(
  all: readonly T[],
  describe: (item: T) => string | undefined,
): string {
  const lines = all.slice(0, listedAtMost).map((one) => `\n  ${one.id}  ${describe(one) ?? ""}`);
  const more = all.length > listedAtMost ? "\n  …" : "";
  return `${lines.map((line) => line.trimEnd()).join("")}${more}`;
}
