/** The space in which `windlass up` deployed a directory before. */
import type { Configuration } from "../../protocol/configurations.ts";
import { teamWords } from "../api/team.ts";
import { spaceName, spacesWith } from "../teams/elsewhere.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import type { Api } from "../api/api.ts";
import { isFrom } from "./origin.ts";

/** The server is asked while git reads the remote of the directory. */
export async function madeFrom(
  api: Api,
  origins: readonly string[] | Promise<readonly string[]>,
): Promise<Configuration[]> {
  const [{ configurations }, known] = await Promise.all([api.call("listConfigurations"), origins]);
  return configurations.filter(({ origin }) => isFrom(known, origin));
}

/** Without an origin there is none, so no server is asked. */
export const isMadeIn = async (api: Api, origins: Promise<readonly string[]>): Promise<boolean> =>
  (await origins).length > 0 && (await madeFrom(api, origins)).length > 0;

/**
 * Acts where the directory's configuration is, so that a forgotten `--team` makes no second one. A
 * named team, or a configuration in this space, takes precedence; `up` then names the others.
 */
export async function inLinkedSpace(
  run: Run,
  origins: Promise<readonly string[]>,
  { namesOthers = false } = {},
): Promise<Run> {
  const { api, settings } = run;
  if (run.team !== undefined || settings.team !== undefined || api.isAccessToken) return run;
  const askHere = async (): Promise<boolean> => (await madeFrom(api, origins)).length > 0;
  // Only `up` names other spaces that have one too.
  if (!namesOthers && (await askHere())) return run;
  const [isHere, others] = await Promise.all([
    // Asked while git reads the origin.
    namesOthers && askHere(),
    spacesWith(api, (other) => isMadeIn(other, origins)),
  ]);
  const [slug] = others;
  if (slug === undefined) return run;
  if (isHere) {
    run.done(
      `This directory was deployed in ${others.map(spaceName).join(" and ")} too. This command acts in ${spaceName(api.team ?? "")}. For another space, pass ${others.map(optionOf).join(" or ")}.`,
    );
    return run;
  }
  if (others.length > 1)
    throw new CliError(
      `This directory was deployed in several spaces. Pass ${others.map(optionOf).join(" or ")}`,
      2,
    );
  run.done(
    `This directory was deployed in ${spaceName(slug)} before, so this command acts there too. For another space, pass ${optionOf(api.team ?? "")}.`,
  );
  return { ...run, api: api.inSpace(slug) };
}

const optionOf = (slug: string): string => teamWords(slug).trimStart();
