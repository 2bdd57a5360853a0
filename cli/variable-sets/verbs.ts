/** The verbs of `windlass variable-sets`. */
import type { VariableSet } from "../../protocol/variable-sets.ts";
import { withRemedy } from "../api/failures.ts";
import { find } from "../api/find.ts";
import { teamWords } from "../api/team.ts";
import { findIn } from "../teams/elsewhere.ts";
import { configurationOf } from "../configurations/find.ts";
import { isTerraform } from "../configurations/var-files.ts";
import { valuesOf, type ValueOptions } from "../configurations/variables.ts";
import { environmentLines, variableLines } from "../configurations/values.ts";
import type { Run } from "../run.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError, say } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";
import { ago, timeAndAge } from "../terminal/times.ts";

export interface AttachOptions {
  readonly zone?: string[] | undefined;
  readonly configuration?: string[] | undefined;
}

export interface SetOptions extends ValueOptions, AttachOptions {}

export interface UpdateOptions extends ValueOptions {
  readonly rename?: string | undefined;
}

export async function list(run: Run): Promise<void> {
  const { variable_sets } = await run.api.call("listVariableSets");
  run.list(
    variable_sets,
    {
      NAME: ({ name }) => name,
      VARIABLES: ({ variables }) => Object.keys(variables ?? {}).length,
      ENVIRONMENT: ({ environment }) => Object.keys(environment ?? {}).length,
      ZONES: ({ zone_ids }) => zone_ids.length,
      CONFIGURATIONS: ({ configuration_ids }) => configuration_ids.length,
      CHANGED: ({ updated_at }) => ago(updated_at),
      ID: ({ id }) => id,
    },
    `There are no variable sets yet. To create one: windlass variable-sets create NAME --var name=value${teamWords(run.api.team)}`,
  );
}

export async function show(run: Run, name: string): Promise<void> {
  await showSet(run, await setOf(run, name));
}

export async function create(run: Run, name: string, options: SetOptions): Promise<void> {
  const targets = await targetsOf(run, options);
  const body = { name, ...(await fieldsOf(options, {})), ...targets };
  await showSet(run, await run.api.call("createVariableSet", { body }));
}

/** `variable-sets update`: changes only what the options name. */
export async function update(run: Run, name: string, options: UpdateOptions): Promise<void> {
  const before = await setOf(run, name);
  const body = {
    ...(await fieldsOf(options, before)),
    ...(options.rename === undefined ? {} : { name: options.rename }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. For help: windlass variable-sets update --help", 2);
  const input = { params: { id: before.id }, body };
  await showSet(run, await run.api.call("updateVariableSet", input));
}

export async function remove(
  run: Run,
  name: string,
  options: { yes?: true | undefined },
): Promise<void> {
  const set = await setOf(run, name);
  const { id, name: found } = set;
  await confirm(`Delete the variable set "${found}"?`, options);
  try {
    await run.api.call("deleteVariableSet", { params: { id } });
  } catch (error) {
    throw withRemedy(error, { variable_set_in_use: `Run: ${await detachCommand(run, set)}` });
  }
  run.done(`The variable set "${found}" is deleted.`);
}

async function detachCommand(run: Run, set: VariableSet): Promise<string> {
  const { zones, configurations } = await targetNames(run, set);
  return (
    [
      `windlass variable-sets detach ${shellWord(set.name)}`,
      ...zones.map((name) => `--zone ${shellWord(name)}`),
      ...configurations.map((name) => `--configuration ${shellWord(name)}`),
    ].join(" ") + teamWords(run.api.team)
  );
}

export async function setAttached(
  run: Run,
  name: string,
  options: AttachOptions,
  isAttached: boolean,
): Promise<void> {
  let set = await setOf(run, name);
  const { zone_ids = [], configuration_ids = [] } = await targetsOf(run, options);
  if (zone_ids.length + configuration_ids.length === 0)
    throw new CliError("Pass --zone or --configuration with a name or id.", 2);
  const { id, name: found } = set;
  const sayIfSo = (wasAttached: boolean, what: string): void => {
    if (wasAttached === isAttached)
      say(`The variable set "${found}" was ${isAttached ? "already" : "not"} attached to ${what}.`);
  };
  for (const [at, zone_id] of zone_ids.entries()) {
    if (zone_ids.indexOf(zone_id) < at) continue;
    sayIfSo(set.zone_ids.includes(zone_id), `the zone "${options.zone?.[at]}"`);
    set = await run.api.call(isAttached ? "attachToZone" : "detachFromZone", {
      params: { id, zone_id },
    });
  }
  for (const [at, configuration_id] of configuration_ids.entries()) {
    if (configuration_ids.indexOf(configuration_id) < at) continue;
    const what = `the configuration "${options.configuration?.[at]}"`;
    sayIfSo(set.configuration_ids.includes(configuration_id), what);
    set = await run.api.call(isAttached ? "attachToConfiguration" : "detachFromConfiguration", {
      params: { id, configuration_id },
    });
  }
  await showSet(run, set);
}

const setOf = async ({ api }: Run, name: string): Promise<VariableSet> =>
  findIn(
    api,
    "variable set",
    "variable-sets",
    async (one) => (await one.call("listVariableSets")).variable_sets,
    name,
  );

type Values = Pick<VariableSet, "variables" | "environment">;

/** Returns the fields that the options name, applied to those in `before`. */
async function fieldsOf(options: ValueOptions, before: Values): Promise<Values> {
  const file = options.varFile?.find(isTerraform);
  if (file !== undefined)
    throw new CliError(
      `"${file}" could be read only by terraform, on the runner. A variable set takes the JSON form, .tfvars.json.`,
      2,
    );
  const { variables, environment } = await valuesOf(options, before);
  return {
    ...(variables === undefined ? {} : { variables }),
    ...(environment === undefined ? {} : { environment }),
  };
}

/** Finds the zones and configurations that the options name. */
async function targetsOf(
  { api }: Run,
  { zone: zones, configuration: configurations }: AttachOptions,
): Promise<{ zone_ids?: string[]; configuration_ids?: string[] }> {
  const all = zones === undefined ? [] : (await api.call("listZones")).zones;
  const configuration_ids: string[] = [];
  for (const name of configurations ?? [])
    configuration_ids.push((await configurationOf(api, name)).id);
  return {
    ...(zones && { zone_ids: zones.map((name) => find(api, "zone", "zones", all, name).id) }),
    ...(configurations && { configuration_ids }),
  };
}

async function showSet(run: Run, set: VariableSet): Promise<void> {
  const targets = run.json ? undefined : await targetNames(run, set);
  run.show(set, {
    name: set.name,
    id: set.id,
    variables: variableLines(set.variables).join("\n"),
    environment: environmentLines(set.environment).join("\n"),
    zones: targets?.zones.join("\n"),
    configurations: targets?.configurations.join("\n"),
    changed: timeAndAge(set.updated_at),
  });
}

/** The names of the zones and configurations to which a set is attached. */
async function targetNames(
  { api }: Run,
  { zone_ids, configuration_ids }: VariableSet,
): Promise<{ zones: string[]; configurations: string[] }> {
  const zones =
    zone_ids.length + configuration_ids.length === 0 ? [] : (await api.call("listZones")).zones;
  return {
    zones: namesIn(zone_ids, zones),
    configurations: namesIn(
      configuration_ids,
      zones.flatMap(({ specs }) => specs),
    ),
  };
}

const namesIn = (
  ids: readonly string[],
  all: readonly { readonly id: string; readonly name: string }[],
): string[] => all.filter(({ id }) => ids.includes(id)).map(({ name }) => name);
