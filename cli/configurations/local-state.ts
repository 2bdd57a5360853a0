/** A state that terraform has left for the files, which are now deployed by the control plane. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { terraformFilesIn } from "../../common/terraform-files.ts";
import type { Configuration } from "../../protocol/configurations.ts";
import { stateLimit } from "../../protocol/limits.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { clean, CliError } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";

/**
 * Says how to take over a state that terraform left here, without which all is created again.
 * Throws `CliError` if no person would see that before a deployment. Returns what it said.
 */
export async function noteLocalState(
  run: Run,
  directory: string,
  { id, name, state_backend }: Configuration,
  { yes }: { readonly yes?: true | undefined } = {},
): Promise<string | undefined> {
  if (state_backend === "own") return undefined;
  const found = findState(directory);
  if (found === undefined) return undefined;
  const newest = { params: { name: id }, query: { limit: 1 } };
  const { state_versions } = await run.api.call("listStateVersions", newest);
  if (state_versions.length > 0) return undefined;
  const push = `windlass state push ${shellWord(name)}${teamWords(run.api.team)}`;
  const note = `${found.what}${found.takeOver(push)}`;
  if (yes)
    throw new CliError(
      `${note}\nNothing was planned. If no state there is of use, remove ${found.files.map((file) => shellWord(file)).join(" ")}.`,
      2,
    );
  run.done(note);
  return note;
}

interface LocalState {
  /** Where it is, and what follows from that. */
  readonly what: string;
  /** The files that show it. */
  readonly files: readonly string[];
  /** Returns how to take it over, with this beginning of the command line. */
  readonly takeOver: (push: string) => string;
}

function findState(directory: string): LocalState | undefined {
  const files = statesIn(directory);
  const [file, ...others] = files;
  if (file !== undefined && others.length === 0)
    return {
      what: `${file} is ${unused} `,
      files,
      takeOver: (push) => `${takeIt} ${push} --file ${shellWord(file)}`,
    };
  // Only the user knows which of them is that of this configuration.
  if (file !== undefined)
    return {
      what: `Terraform has left the states of ${files.length} workspaces here, which are not used: a plan would create again what one of them records:\n${listed(files)}\n`,
      files,
      takeOver: (push) =>
        `To take over that of this configuration before you deploy, run: ${push} --file FILE`,
    };
  const record = join(directory, ".terraform", "terraform.tfstate");
  const backend = backendIn(record);
  if (backend === undefined || declaresBackend(directory)) return undefined;
  return {
    what: `Terraform's last init kept the state in the backend "${backend}", which the files no longer declare. It is ${unused} `,
    files: [record],
    takeOver: (push) => `${takeIt} terraform state pull | ${push} (where they still declare it)`,
  };
}

const unused = "not used: a plan would create again what it records.";
const takeIt = "To take it over before you deploy, run:";

const listedAtMost = 10;
const listed = (files: readonly string[]): string =>
  [
    ...files.slice(0, listedAtMost).map((file) => `  ${file}`),
    ...(files.length > listedAtMost ? [`  and ${files.length - listedAtMost} more`] : []),
  ].join("\n");

/** The files with resources: that of the default workspace, then those of the others. */
const statesIn = (directory: string): string[] =>
  ["", ...workspacesIn(directory)]
    .map((workspace) => join(directory, workspace, "terraform.tfstate"))
    .filter(hasResources);

function workspacesIn(directory: string): string[] {
  try {
    const names = readdirSync(join(directory, "terraform.tfstate.d"));
    return names.toSorted().map((name) => join("terraform.tfstate.d", name));
  } catch {
    return [];
  }
}

/** After a destruction, terraform leaves a state without resources; an empty file if it moves it. */
function hasResources(file: string): boolean {
  try {
    const { size } = statSync(file);
    if (size > stateLimit) return true;
    const { resources } = JSON.parse(readFileSync(file, "utf8")) as { resources?: unknown[] };
    return resources === undefined || resources.length > 0;
  } catch (error) {
    // One that is no JSON may be encrypted.
    return error instanceof SyntaxError && statSync(file).size > 0;
  }
}

/** The type of the backend that terraform recorded at its last init; undefined if it is none. */
function backendIn(record: string): string | undefined {
  try {
    const { backend } = JSON.parse(readFileSync(record, "utf8")) as {
      backend?: { type?: unknown };
    };
    const type = backend?.type;
    return typeof type === "string" && type !== "local" ? clean(type) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a file may declare a backend; the runner finds out whether it does. */
const declaresBackend = (directory: string): boolean =>
  terraformFilesIn(directory).some((name) =>
    /\b(backend|cloud|state_store)\b/.test(readFileSync(join(directory, name), "utf8")),
  );
