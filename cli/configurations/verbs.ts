/** The verbs of `windlass configurations`. */
import { basename, join, resolve } from "node:path";
import type { CreateConfiguration, Source } from "../../protocol/configurations.ts";
import type { DriftStatus } from "../../protocol/drift.ts";
import { withRemedy } from "../api/failures.ts";
import { teamWords } from "../api/team.ts";
import { lockRemedies } from "../states/lock.ts";
import { confirm } from "../terminal/ask.ts";
import { CliError } from "../terminal/output.ts";
import { shellWord, shellWordsOr } from "../../common/shell-word.ts";
import type { Run } from "../run.ts";
import { ago } from "../terminal/times.ts";
import { changesOf, fileOf, placeIn, type ChangeOptions } from "./changes.ts";
import { deployedInShort } from "./deployed.ts";
import { listedStatus } from "./failed.ts";
import { inSpaceOf, refuseHere } from "./find.ts";
import { findZone } from "../zones/find.ts";
import { warnOfEnd } from "./expiry.ts";
import { noteLocalState } from "./local-state.ts";
import { showConfiguration, sourceText } from "./show.ts";

interface ListOptions {
  readonly zone?: string | undefined;
  readonly drift?: DriftStatus | undefined;
}

export async function list(run: Run, { zone, drift }: ListOptions): Promise<void> {
  const [{ configurations }, { zones }, within] = await Promise.all([
    run.api.call("listConfigurations", { query: drift ? { drift } : {} }),
    run.json ? { zones: [] } : run.api.call("listZones"),
    zone === undefined ? undefined : findZone(run.api, zone),
  ]);
  const zoneNames = new Map(zones.map(({ id, name }) => [id, name]));
  const shown = within
    ? configurations.filter(({ zone_id }) => zone_id === within.id)
    : configurations;
  run.list(
    shown,
    {
      NAME: ({ name }) => name,
      ZONE: ({ zone_id }) => zoneNames.get(zone_id),
      STATUS: listedStatus,
      DEPLOYED: ({ deployed }) => deployed && deployedInShort(deployed),
      SOURCE: ({ source }) => sourceText(source),
      CHANGED: ({ updated_at }) => ago(updated_at),
      ID: ({ id }) => id,
    },
    within
      ? `The zone "${within.name}" has no configurations.`
      : drift
        ? "There is no such configuration."
        : "There are no configurations yet. To create one: windlass configurations create --help",
    { whole: ["STATUS"], spare: ["SOURCE", "CHANGED"] },
  );
  warnOfEnd(run, shown);
}

export async function show(current: Run, name: string): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  await showConfiguration(run, configuration);
}

export async function create(
  run: Run,
  name: string | undefined,
  options: ChangeOptions,
): Promise<void> {
  const file = fileOf(options);
  const named = name ?? (file["name"] as string | undefined) ?? directoryName(options.dir);
  if (named === undefined) throw new CliError("Missing name. Pass it as the first argument.", 2);
  refuseHere(named);
  const { source = file["source"], ...changes } = await changesOf(run, options, {
    variables: file["variables"] as never,
    environment: file["environment"] as never,
    backend_config: file["backend_config"] as never,
    approval: file["approval"] as never,
    source: file["source"] as never,
    ...placeIn(file),
  });
  if (source === undefined)
    throw new CliError("Missing source. Pass --git URL, --dir DIRECTORY or --file FILE.", 2);
  const zone_id =
    changes.zone_id ?? (file["zone_id"] as string | undefined) ?? (await onlyZone(run));
  const body = { ...file, ...changes, name: named, zone_id, source } as CreateConfiguration;
  const configuration = await run.api.call("createConfiguration", { body });
  await showConfiguration(run, configuration);
  if (options.dir !== undefined)
    await noteLocalState(run, join(options.dir, options.workingDirectory ?? ""), configuration);
  run.done(`Next: windlass jobs plan ${shellWord(named)} --wait${teamWords(run.api.team)}`);
}

/** `configurations update`: changes only the fields that the options name. */
export async function update(current: Run, name: string, options: ChangeOptions): Promise<void> {
  refuseHere(options.rename);
  const { run, configuration: before } = await inSpaceOf(current, name);
  const file = fileOf(options);
  const place = placeIn({ ...before, ...file });
  const source = (file["source"] as Source | undefined) ?? before.source;
  const changes = await changesOf(run, options, { ...before, source, ...place });
  const body = {
    ...file,
    ...changes,
    ...(options.rename === undefined ? {} : { name: options.rename }),
  };
  if (Object.keys(body).length === 0)
    throw new CliError("Nothing to change. For help: windlass configurations update --help", 2);
  await showConfiguration(
    run,
    await run.api.call("updateConfiguration", { params: { name: before.id }, body }),
  );
}

export interface DeleteOptions {
  readonly yes?: true | undefined;
  /** A file with the state that records the resources. */
  readonly keepResources?: string | undefined;
}

export async function remove(
  current: Run,
  name: string,
  { yes, keepResources: file }: DeleteOptions,
): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const { id, name: found } = configuration;
  const serial =
    file === undefined
      ? undefined
      : await (await import("./keep-resources.ts")).savedSerial(run, configuration, file);
  const kept =
    serial === undefined
      ? ""
      : ` Its resources continue to exist. Windlass has no record of them after this; the state in "${file}" has.`;
  await confirm(`Delete the configuration "${found}" and all versions of its state?${kept}`, {
    yes,
  });
  try {
    const query = serial === undefined ? {} : { keep_resources_of: serial };
    await run.api.call("deleteConfiguration", { params: { name: id }, query });
  } catch (error) {
    const remedy = `Run: windlass jobs destroy ${shellWord(found)}${teamWords(run.api.team)}\nTo keep the resources, save the state in a file and pass it with --keep-resources FILE`;
    throw withRemedy(error, {
      configuration_not_empty: remedy,
      ...lockRemedies(run.api, found),
    });
  }
  run.done(`The configuration "${found}" is deleted. Its jobs are kept.${kept}`);
}

const directoryName = (directory: string | undefined): string | undefined =>
  directory === undefined ? undefined : basename(resolve(directory));

async function onlyZone({ api }: Run): Promise<string> {
  const { zones } = await api.call("listZones");
  if (zones.length === 1 && zones[0]) return zones[0].id;
  throw new CliError(
    zones.length === 0
      ? `There is no zone yet. To create one: windlass zones create NAME${teamWords(api.team)}`
      : `You have several zones. Pass --zone ${shellWordsOr(zones.map(({ name }) => name))}`,
    2,
  );
}
