/**
 * What to upload for a directory: in a monorepo its modules are often outside of it, as in
 * `source = "../../modules/network"`.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { CliError } from "../terminal/output.ts";

/** How many directories of modules are read. */
const foldersLimit = 1000;
/** A larger file is not searched for modules. */
const fileLimit = 1024 * 1024;

/**
 * Returns the closest directory that contains this one and every local module that it uses, directly
 * or by another module. Throws `CliError` if that would be the home directory or all of the disk.
 */
export function findRoot(directory: string): string {
  const start = resolve(directory);
  const folders = new Set([start]);
  for (const folder of folders) {
    for (const module of modulesIn(folder)) if (folders.size < foldersLimit) folders.add(module);
  }
  let root = start;
  for (const folder of folders) while (!isInside(folder, root)) root = dirname(root);
  if (root !== start && isInside(homedir(), root))
    throw new CliError(
      `"${directory}" uses modules for which all of ${root} would be uploaded. Move the modules closer to it, or pass the directory to upload and --working-directory.`,
      2,
    );
  return root;
}

const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/** The existing directories that the files of this one name as the source of a module. */
function modulesIn(folder: string): string[] {
  return filesOf(folder)
    .flatMap((file) => (file.endsWith(".json") ? sourcesInJson(file) : sourcesIn(file)))
    .filter((source) => /^\.\.?\//.test(source))
    .map((source) => resolve(folder, source))
    .filter(isFolder);
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /\.(tf|tofu)(\.json)?$/.test(name))
      .map((name) => join(folder, name))
      .filter((file) => statSync(file).size <= fileLimit);
  } catch {
    return [];
  }
}

/** A file or a directory that cannot be read is reported when it is packed. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Only a module has a local directory as its `source`, so no parser of the language is needed. */
function sourcesIn(file: string): string[] {
  const text = textOf(file).replaceAll(/(^|\s)(#|\/\/).*$/gm, "");
  return [...text.matchAll(/(?:^|[{\s])source\s*=\s*"([^"\n]*)"/gm)].map(
    ([, source = ""]) => source,
  );
}

function sourcesInJson(file: string): string[] {
  try {
    const { module = {} } = JSON.parse(readFileSync(file, "utf8")) as { module?: object };
    return Object.values(module)
      .flat()
      .map((one: unknown) => (one as { source?: unknown } | null)?.source)
      .filter((source) => typeof source === "string");
  } catch {
    // Terraform reports a file that is not JSON.
    return [];
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The path of the directory in the one that is uploaded, as the runner needs it. */
export const pathIn = (root: string, directory: string): string =>
  relative(root, resolve(directory)).split(sep).join("/");
