/**
 * What to upload for a directory: in a monorepo its modules and files are often outside of it, as in
 * `source = "../../modules/network"` and `file("../common.yaml")`.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import type { Run } from "../run.ts";
import { CliError } from "../terminal/output.ts";

/** How many directories of modules are read. */
const directoriesLimit = 1000;
/** A larger file is not searched for modules. */
const fileLimit = 1024 * 1024;

/**
 * Returns the closest directory that contains this one, every local module that it uses, directly or
 * by another module, and the files that they name in calls such as `file("../common.yaml")` and in
 * texts such as `"${path.module}/../shared"`: terraform would fail without such a file, and `fileset` would find none and destroy what was made for them.
 * Throws `CliError` if that would be the home directory or all of the disk.
 */
export function findRoot(directory: string): string {
  const start = resolve(directory);
  const directories = new Set([start]);
  for (const each of directories) {
    for (const module of modulesIn(each))
      if (directories.size < directoriesLimit) directories.add(module);
  }
  let root = start;
  const places = [...directories, ...[...directories].flatMap((each) => namedIn(each, start))];
  for (const place of places) while (!isInside(place, root)) root = dirname(root);
  if (root !== start && isInside(homedir(), root))
    throw new CliError(
      `"${directory}" uses modules or files for which all of ${root} would be uploaded. Move them closer to it, or pass the directory to upload and --working-directory.`,
      2,
    );
  return root;
}

const isInside = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);

/** The existing directories that the files of this one name as the source of a module. */
function modulesIn(directory: string): string[] {
  return filesOf(directory)
    .flatMap((file) => (file.endsWith(".json") ? sourcesInJson(file) : sourcesIn(file)))
    .filter((source) => /^\.\.?\//.test(source))
    .map((source) => resolve(directory, source))
    .filter(isDirectory);
}

/**
 * Paths in calls of functions that read files, and in other texts that begin with a path of terraform,
 * such as a local value that a call uses: the base and the path, and whether the path ends there.
 */
const filePaths =
  /(?:\b(?:file\w*|templatefile)\(\s*"(?:(\$\{path\.\w+\})\/)?|"(\$\{path\.\w+\})\/)([^"$%*?{\n]*)("?)/g;

/**
 * The directories of existing files that the files of a module name in such texts with `..`.
 * Terraform runs in `start`, to which relative paths refer.
 */
function namedIn(module: string, start: string): string[] {
  return filesOf(module)
    .flatMap((file) => [...withoutComments(textOf(file)).matchAll(filePaths)])
    .filter(([, , , path = ""]) => path.split("/").includes(".."))
    .flatMap(([, base, other, path = "", end]) => {
      const place = resolve((base ?? other) === "${path.module}" ? module : start, path);
      if (isDirectory(place)) return [place];
      return end === "" || existsSync(place) ? [dirname(place)] : [];
    })
    .filter(isDirectory);
}

function filesOf(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /\.(tf|tofu)(\.json)?$/.test(name))
      .map((name) => join(directory, name))
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

/** Without comments, and without the lines of heredocs that are only text. */
const withoutComments = (text: string): string =>
  text
    .replaceAll(/<<-?[ \t]*(\w+)\r?\n[^]*?^[ \t]*\1[ \t\r]*$/gm, (heredoc) =>
      heredoc.replaceAll(/^(?!.*\$\{).*$/gm, ""),
    )
    .replaceAll(/(^|\s)\/\*[^]*?\*\//g, "$1")
    .replaceAll(/(^|\s)(#|\/\/).*$/gm, "");

/** Only a module has a local directory as its `source`, so no parser of the language is needed. */
function sourcesIn(file: string): string[] {
  const text = withoutComments(textOf(file));
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

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The path of the directory in the one that is uploaded, as the runner needs it. */
export const pathIn = (root: string, directory: string): string =>
  relative(root, resolve(directory)).split(sep).join("/");

/** What is uploaded: the directory itself, unless it needs modules or files that are outside of it. */
export function rootOf(directory: string): string {
  const root = findRoot(directory);
  return pathIn(root, directory) === "" ? directory : root;
}

/** Says that more than the directory is uploaded. */
export const noteRoot = (run: Run, directory: string, root: string): void =>
  run.done(
    `${directory} uses modules or files outside of it. Uploading ${root}; terraform runs in ${pathIn(root, directory)}.`,
  );
