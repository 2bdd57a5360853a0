/** `windlass zones move`. */
import type { Zone } from "../../protocol/configurations.ts";
import { openApi, type Api } from "../api/api.ts";
import { withRemedy } from "../api/failures.ts";
import { find } from "../api/find.ts";
import { teamWords } from "../api/team.ts";
import { confirm } from "../terminal/ask.ts";
import { refuseLesserRole } from "../teams/acting.ts";
import { isNotFound, otherSpaceWith, spaceName } from "../teams/elsewhere.ts";
import { CliError } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";
import type { Run } from "../run.ts";

/**
 * To the team of `--team`, or the personal space if it is empty. A name is looked up in the space
 * of `WINDLASS_TEAM` or the profile.
 */
export async function move(
  run: Run,
  name: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  const { settings, server, profile, signal, team } = run;
  if (team === undefined)
    throw new CliError('Missing team. Pass --team TEAM, or --team "" for your personal space.', 2);
  const api = openApi({ settings, server, profile, signal });
  const zone = await zoneToMove(run, api, name);
  const where = spaceName(team);
  if (team === (api.team ?? "")) return run.done(`The zone "${zone.name}" is in ${where} already.`);
  await refuseLesserRole({ api }, "admin");
  const body = { team: team === "" ? null : team };
  await confirm(
    `Move the zone "${zone.name}" to ${where}, with its configurations, their jobs and states?`,
    options,
  );
  const inTeam = teamWords(api.team);
  const remedy = [
    "The commands that detach:",
    `  windlass variable-sets detach SET --zone ${shellWord(zone.name)}${inTeam} (or --configuration NAME)`,
    `  windlass configurations update NAME --identity none${inTeam}`,
    `  windlass workers update WORKER --deploy-configuration none${inTeam}`,
  ].join("\n");
  const input = { params: { id: zone.id }, body };
  const moved = await api.call("updateZone", input).catch((error: unknown) => {
    throw withRemedy(error, { zone_in_use: remedy });
  });
  run.show(moved, { name: moved.name, id: moved.id });
  run.done(`The zone "${moved.name}" is in ${where} now.`);
}

/** If it is in another space, the error says how to act there: `--team` is the target. */
async function zoneToMove({ settings, team }: Run, api: Api, name: string): Promise<Zone> {
  const findWith = async (one: Api): Promise<Zone> =>
    find(one, "zone", "zones", (await one.call("listZones")).zones, name);
  try {
    return await findWith(api);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const isIn = async (other: Api): Promise<boolean> => (await findWith(other)) !== undefined;
    const slug = await otherSpaceWith(api, isIn);
    if (slug === undefined) throw error;
    const space = spaceName(slug);
    if (slug === team) throw new CliError(`The zone "${name}" is in ${space} already.`);
    const free = settings.team === undefined ? "" : "unset WINDLASS_TEAM; ";
    throw new CliError(
      `There is no zone "${name}" in ${spaceName(api.team ?? "")}, where you act. It is in ${space}. To act there first: ${free}windlass teams use ${slug || '""'}`,
    );
  }
}
