/** The space in which `windlass up` deployed a directory before. */
import { spacesWith } from "../teams/elsewhere.ts";
import { CliError } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { readOrigins } from "./origin.ts";
import type { Api } from "../api/api.ts";

/**
 * Returns the run in the space of the configuration that was created from the directory, so that a
 * forgotten `--team` makes no second one. A named team, or a configuration of this directory in the
 * current space, takes precedence.
 */
export async function inLinkedSpace(run: Run, directory: string): Promise<Run> {
  const { api, settings } = run;
  if (run.team !== undefined || settings.team !== undefined || api.isAccessToken) return run;
  const origins = await readOrigins(directory);
  const isMadeHere = async (one: Api): Promise<boolean> => {
    const { configurations } = await one.call("listConfigurations");
    return configurations.some(({ origin }) => origin !== undefined && origins.includes(origin));
  };
  if (origins.length === 0 || (await isMadeHere(api))) return run;
  const [slug, ...others] = await spacesWith(api, isMadeHere);
  if (slug === undefined) return run;
  if (others.length > 0)
    throw new CliError(
      `This directory was deployed in several spaces. Pass ${[slug, ...others].map(optionOf).join(" or ")}`,
      2,
    );
  const where = slug === "" ? "your personal space" : `the team "${slug}"`;
  run.done(
    `This directory was deployed in ${where} before, so this is done there too. For another space, pass ${optionOf(api.team ?? "")}.`,
  );
  return { ...run, api: api.inSpace(slug) };
}

const optionOf = (slug: string): string => `--team ${slug === "" ? '""' : slug}`;
