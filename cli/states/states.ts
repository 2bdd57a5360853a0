/** The verbs of `windlass state` that read and write whole states. */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Configuration } from "../../protocol/configurations.ts";
import { stateLimit } from "../../protocol/limits.ts";
import type { StateVersion } from "../../protocol/state-versions.ts";
import { resourcesText } from "../../protocol/words.ts";
import { parseExactly } from "../../common/exact-json.ts";
import { withRemedy } from "../api/failures.ts";
import { teamWords } from "../api/team.ts";
import { inSpaceOf } from "../configurations/find.ts";
import type { Run } from "../run.ts";
import { confirm } from "../terminal/ask.ts";
import { fileErrorText } from "../../common/file-errors.ts";
import { CliError, print, say } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";
import { table } from "../terminal/table.ts";
import { stateValue } from "./hcl.ts";
import { lockRemedies, lockText, versionRemedies } from "./lock.ts";
import { instancesOf, isReadable, shownAttributes, type StateDocument } from "./resources.ts";

/** `state pull` and `state download`: writes a version to stdout, by default the newest. */
export async function pull(current: Run, name: string, serial?: string): Promise<void> {
  if (process.stdout.isTTY)
    throw new CliError("A state may contain secrets. Write it to a file: … > network.tfstate", 2);
  const { run, configuration } = await inSpaceOf(current, name);
  await pipeline(await read(run, configuration, serial), process.stdout, { end: false });
}

/** `state list`: the addresses of the resources in the newest version. */
export async function list(current: Run, name: string): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const instances = instancesOf(await readNewest(run, configuration));
  const addresses = instances.map(({ address }) => address);
  if (run.json) return print(JSON.stringify(addresses, null, 2));
  if (addresses.length === 0) return say("The state has no resources.");
  for (const address of addresses) print(address);
}

/** `state show`: the attributes of one resource, without those that are marked as sensitive. */
export async function show(current: Run, name: string, address: string): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const instances = instancesOf(await readNewest(run, configuration));
  const found = instances.find((one) => one.address === address);
  if (!found) {
    const parts = instances.filter((one) => one.address.startsWith(`${address}[`));
    const hint =
      parts.length > 0
        ? `It has ${parts.length} ${parts.length === 1 ? "instance" : "instances"}, such as ${parts[0]?.address}.`
        : `To see all resources: windlass state list ${shellWord(configuration.name)}${teamWords(run.api.team)}`;
    throw new CliError(`There is no resource "${address}" in the state. ${hint}`);
  }
  const attributes = shownAttributes(found.instance);
  if (run.json) return print(JSON.stringify({ address, attributes }, null, 2));
  print(`# ${address}`);
  const rows = Object.entries(attributes).map(([key, value]) => [key, `= ${stateValue(value)}`]);
  for (const line of table(rows)) print(line);
}

/** `state unlock`: asks, unless there is no lock or a running job has it. */
export async function unlock(
  current: Run,
  name: string,
  options: { readonly yes?: true | undefined },
): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const { id, name: found } = configuration;
  const { state_lock: lock } = await run.api.call("getStateLock", { params: { name: id } });
  if (lock === null && configuration.state_backend === "own")
    return run.done(
      `Windlass does not lock the state of "${found}": it is in the configuration's own backend, which may have a lock of its own. To remove that, run terraform force-unlock in a directory that declares that backend.`,
    );
  if (lock === null) return run.done(`The state of "${found}" is not locked.`);
  if (lock.held)
    throw new CliError(
      `The running job ${lock.job_id} locks the state of "${found}". Cancel it instead: windlass jobs cancel ${lock.job_id}${teamWords(run.api.team)}`,
    );
  run.done(`The state is ${lockText(lock)}.`);
  const risk = lock.state_unsaved
    ? "Unless you have stored the state that it could not save, the next deployment creates its resources again."
    : "If its terraform is still running, it may overwrite later changes.";
  await confirm(`Unlock the state of "${found}"? ${risk}`, options);
  await run.api.call("breakStateLock", { params: { name: id } });
  run.done(`The state of "${found}" is unlocked. Waiting jobs continue.`);
}

export interface PushOptions {
  readonly file?: string | undefined;
  readonly force?: true | undefined;
  readonly yes?: true | undefined;
}

/** `state push`: stores a state as the newest version, from a file or from stdin. */
export async function push(
  current: Run,
  name: string,
  { file = "-", force, yes }: PushOptions,
): Promise<void> {
  const { run, configuration } = await inSpaceOf(current, name);
  const { id, name: found } = configuration;
  const bytes = await readInput(file);
  if (force)
    await confirm(`Replace the state of "${found}", whatever its lineage and serial?`, { yes });
  const query = { force: force ?? false };
  const response = await run.api
    .send("pushState", { params: { name: id }, query, bytes })
    .catch((error: unknown) => {
      const isOwn = configuration.backend === "own";
      throw withRemedy(error, {
        ...lockRemedies(run.api, found),
        ...(force || isOwn
          ? {}
          : {
              state_conflict:
                "To replace the stored state all the same, add --force: its versions are kept",
            }),
      });
    });
  const version = (await response.body.json()) as StateVersion;
  if (run.json) return print(JSON.stringify(version, null, 2));
  const { serial, resources } = version;
  if (response.statusCode === 200)
    return say(`Serial ${serial} is the newest version of the state of "${found}" already.`);
  say(
    `Serial ${serial} is now the newest version of the state of "${found}". It has ${resourcesText(resources)}.`,
  );
  sayCheck(run, found);
}

/** Says how to see whether the state fits to the files, after a user has stored it. */
export const sayCheck = ({ api: { team } }: Run, name: string): void =>
  say(
    `Check that a plan changes nothing: windlass jobs plan ${shellWord(name)} --wait${teamWords(team)}`,
  );

/** Reads a whole state, `-` for stdin. Throws `CliError` if there is none, or too much. */
async function readInput(file: string): Promise<Buffer> {
  if (file === "-" && process.stdin.isTTY)
    throw new CliError("Pass a file, or pipe the state in: terraform state pull | windlass …", 2);
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of file === "-" ? process.stdin : createReadStream(file)) {
      parts.push(part as Buffer);
      size += (part as Buffer).length;
      if (size > stateLimit) throw new Error(`it has more than ${stateLimit} bytes`);
    }
  } catch (error) {
    throw new CliError(`The state cannot be read: ${fileErrorText(error)}`, 2);
  }
  if (size === 0)
    throw new CliError(
      `${file === "-" ? "Stdin" : `"${file}"`} is empty. There is no state to push.`,
      2,
    );
  return Buffer.concat(parts);
}

async function readNewest(run: Run, configuration: Configuration): Promise<StateDocument> {
  const body = await read(run, configuration);
  const state = parseExactly(await body.text()) as StateDocument;
  if (isReadable(state)) return state;
  const pull = `windlass state pull ${shellWord(configuration.name)}${teamWords(run.api.team)}`;
  throw new CliError(
    `The state cannot be read here: ${state.encryption_version === undefined ? `it has format ${state.version}, not 4` : "OpenTofu has encrypted it"}. To read it, run tofu or terraform state list -state=FILE with the files of the configuration, and the file that this writes: ${pull} > FILE`,
  );
}

/** The content of a version, by default of the newest. */
async function read(run: Run, { id, name }: Configuration, serial?: string) {
  const wanted = serial ?? String((await newest(run, id)).serial);
  const input = { params: { name: id, serial: wanted } };
  const response = await run.api.send("downloadStateVersion", input).catch((error: unknown) => {
    throw withRemedy(error, versionRemedies(run.api, name));
  });
  return response.body;
}

async function newest(run: Run, name: string): Promise<StateVersion> {
  const input = { params: { name }, query: { limit: 1 } };
  const { state_versions } = await run.api.call("listStateVersions", input);
  if (state_versions[0]) return state_versions[0];
  throw new CliError(await noStateText(run, name));
}

/** Says why there is no version of the state. */
export async function noStateText(run: Run, name: string): Promise<string> {
  const { state_backend } = await run.api.call("getConfiguration", { params: { name } });
  return state_backend === "own"
    ? "The state is in the configuration's own backend, which Windlass does not read. To read it, run terraform state pull in a directory that declares that backend."
    : "There is no state yet.";
}
