/**
 * Packs a directory as a `.tar.gz`, without what git ignores and terraform's own files, states and
 * secrets. The same files give the same bytes, so an unchanged directory is stored once.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  type Dirent,
  type Stats,
} from "node:fs";
import { basename, dirname, join, posix, resolve } from "node:path";
import ignore, { type Ignore } from "ignore";
import { isTerraformFile } from "../../common/terraform-files.ts";
import type { Engine } from "../../protocol/configurations.ts";
import { archiveLimit } from "../../protocol/limits.ts";
import { fileErrorText } from "../../common/file-errors.ts";
import { CliError } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";

export interface PackedDirectory {
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly files: readonly string[];
  /** Paths that are left out; directories end with a slash. */
  readonly skipped: readonly string[];
}

/** Left out regardless of `.gitignore`, unless a `.windlassignore` includes it again with `!`. */
const alwaysIgnored = [
  ".git/",
  ".hg/",
  ".svn/",
  ".terraform/",
  ".windlass/",
  "node_modules/",
  ".DS_Store",
  "*.tfstate",
  "*.tfstate.*",
  ".terraform.tfstate.lock.info",
  "*.tfplan",
  "crash.log",
  "crash.*.log",
  ".terraformrc",
  "terraform.rc",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  ".env",
  ".env.*",
  ".netrc",
  ".aws/",
  ".ssh/",
  "id_rsa",
  "id_ecdsa",
  "id_ed25519",
  "credentials.json",
  "credentials.tfrc.json",
  "*.kubeconfig",
  "kubeconfig",
];

const defaultRules = ignore().add(alwaysIgnored);

/** The directory as messages name it: `.` and `..` say nothing to a reader. */
export const namedDirectory = (directory: string): string =>
  /^\.{1,2}\/?$/.test(directory) ? resolve(directory) : directory;

/** Throws `CliError` with exit code 2 unless it is a directory. */
export function requireDirectory(path: string): void {
  let isDirectory: boolean;
  try {
    isDirectory = statSync(path).isDirectory();
  } catch (error) {
    throw new CliError(`"${path}" cannot be packed: ${fileErrorText(error)}`, 2, error);
  }
  if (!isDirectory)
    throw new CliError(
      `"${path}" is not a directory. Pass the directory in which it is, such as ${shellWord(dirname(path))}`,
      2,
    );
}

/** The runner unpacks at most this many files and directories (agent/job/source/archive.ts). */
const entriesLimit = 20_000;

/**
 * Packs the directory, with the files in `included` even if they are ignored. Throws `CliError` if
 * it is empty, too large or contains a link.
 */
export async function packDirectory(
  directory: string,
  included: readonly string[] = [],
): Promise<PackedDirectory> {
  const walked = walk(directory);
  const { bytes: size } = walked;
  const known = new Set(walked.files);
  const ignored = [...new Set(included)].filter((file) => !known.has(file));
  for (const file of ignored) {
    const path = join(directory, file);
    checkRegular(
      path,
      reading(path, () => lstatSync(path)),
    );
  }
  const files = [...walked.files, ...ignored.toSorted()];
  const skipped = walked.skipped.filter((path) => !included.includes(path));
  const entries = files.length + directoriesOf(files).size;
  if (entries > entriesLimit)
    throw new CliError(
      `"${directory}" has ${entries} files and directories, more than ${entriesLimit}. Exclude some in .windlassignore.`,
    );
  const tooLarge = (bytes: number): CliError => sizeError(directory, bytes, archiveLimit, files);
  // Text compresses well, but more than ten times the limit is not read into memory to find out.
  if (size > 10 * archiveLimit) throw tooLarge(size);
  const { create } = await import("tar");
  const parts: Buffer[] = [];
  // Times and owners would change the bytes of the same files. The time in gzip's header is 0.
  const pack = create(
    {
      cwd: directory,
      gzip: { level: 9 },
      portable: true,
      noMtime: true,
      follow: false,
      linkCache: new NoLinks(),
    },
    files.map((file) => (file.startsWith("@") ? `./${file}` : file)),
  );
  try {
    for await (const part of pack) parts.push(part);
  } catch (error) {
    throw unreadable((error as NodeJS.ErrnoException).path ?? directory, error);
  }
  const bytes = Buffer.concat(parts);
  if (bytes.length > archiveLimit) throw tooLarge(bytes.length);
  return { bytes, sha256: createHash("sha256").update(bytes).digest("hex"), files, skipped };
}

function directoriesOf(files: readonly string[]): Set<string> {
  const directories = new Set<string>();
  for (const file of files)
    for (let at = posix.dirname(file); at !== "." && !directories.has(at); at = posix.dirname(at))
      directories.add(at);
  return directories;
}

/** Packs a hard link as the file that it is: a runner refuses links. */
class NoLinks extends Map<`${number}:${number}`, string> {
  override set(): this {
    return this;
  }
}

function sizeError(
  directory: string,
  size: number,
  limit: number,
  files: readonly string[],
): CliError {
  const largest = files
    .map((file) => ({ file, size: statSync(join(directory, file)).size }))
    .toSorted((a, b) => b.size - a.size)
    .slice(0, 5)
    .map((one) => `\n  ${mebibytes(one.size)}  ${one.file}`);
  return new CliError(
    `"${directory}" is ${mebibytes(size)}, more than the limit of ${mebibytes(limit)}. Exclude files in .windlassignore. The largest files:${largest.join("")}`,
  );
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

/** Where and with what a runner runs terraform in an uploaded directory. */
export interface Place {
  readonly working_directory?: string | undefined;
  readonly engine?: Engine | undefined;
}

/**
 * Throws `CliError` unless files are uploaded that terraform reads in its directory. Without any, it
 * would destroy everything that is deployed.
 */
export function checkDirectory(
  directory: string,
  { working_directory = "", engine }: Place,
  hint: (other: string) => string = (other) =>
    `Pass the directory in which it runs, such as --working-directory ${shellWord(other)}`,
): void {
  const { files } = walk(directory);
  const directories = new Set(
    files.filter((file) => isTerraformFile(posix.basename(file), engine)).map(posix.dirname),
  );
  const wanted = posix.join(".", working_directory).replace(/\/$/, "");
  if (directories.has(wanted)) return;
  const name = join(directory, wanted);
  const [other] = [...directories].toSorted((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1));
  const missing = `"${wanted === "." ? directory : name}" has no .tf files`;
  throw new CliError(
    other === undefined
      ? `${missing}. Check the directory.`
      : `${missing}, and terraform does not read those of other directories. ${hint(other)}`,
  );
}

const depth = (directory: string): number => (directory === "." ? 0 : directory.split("/").length);

interface Listing {
  readonly files: string[];
  readonly skipped: string[];
  bytes: number;
}

function walk(directory: string): Listing {
  const listing: Listing = { files: [], skipped: [], bytes: 0 };
  requireDirectory(directory);
  visit(directory, "", levelsAbove(directory), listing);
  const { files } = listing;
  if (files.length === 0) throw new CliError(`"${directory}" has no files to upload`);
  return listing;
}

/** Throws `CliError` with the path if the file cannot be read. */
function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): CliError {
  // Node replaces the bytes of a name that are not UTF-8, and then does not find the file.
  const isMisread = path.includes("\uFFFD") && (error as NodeJS.ErrnoException).code === "ENOENT";
  const reason = isMisread
    ? "its name is not UTF-8. Rename it, or exclude it in .windlassignore"
    : fileErrorText(error);
  return new CliError(`"${path}" cannot be packed: ${reason}`);
}

/** The ignore files of one directory, with the semantics of git. */
interface IgnoreLevel {
  /** The directory, with a slash at its end. */
  readonly base: string;
  /** The path from this directory to the one that is packed: of a directory above it. */
  readonly below?: string;
  readonly git: Ignore;
  readonly windlass: Ignore;
}

/** Reads the ignore files of a directory, as far as they are there. */
function rulesIn(
  place: string,
  isThere: (name: string) => boolean,
): Pick<IgnoreLevel, "git" | "windlass"> {
  const read = (name: string): Ignore => {
    const rules = ignore({ ignorecase: false });
    const file = join(place, name);
    return isThere(name) ? rules.add(reading(file, () => readFileSync(file, "utf8"))) : rules;
  };
  return { git: read(".gitignore"), windlass: read(".windlassignore") };
}

/**
 * The rules of the directories above, up to the top of the git checkout. None outside of a checkout,
 * nor if they exclude the directory itself: a user has named it.
 */
function levelsAbove(directory: string): IgnoreLevel[] {
  const levels: IgnoreLevel[] = [];
  let below = "";
  let ancestor = resolve(directory);
  while (!existsSync(join(ancestor, ".git"))) {
    const parent = dirname(ancestor);
    if (parent === ancestor) return [];
    below = `${basename(ancestor)}/${below}`;
    ancestor = parent;
    const place = ancestor;
    const isThere = (name: string): boolean =>
      statSync(join(place, name), { throwIfNoEntry: false })?.isFile() === true;
    levels.unshift({ base: "", below, ...rulesIn(place, isThere) });
  }
  const excludes = levels.some(({ git, windlass, below: path = "" }) =>
    [git, windlass].some((rules) => rules.test(path).ignored),
  );
  return excludes ? [] : levels;
}

function visit(root: string, base: string, above: readonly IgnoreLevel[], listing: Listing): void {
  const place = join(root, base);
  const entries = reading(place, () => readdirSync(place, { withFileTypes: true }));
  const isThere = (name: string): boolean =>
    entries.some((entry) => entry.name === name && entry.isFile());
  const levels = [...above, { base, ...rulesIn(place, isThere) }];
  // Sorted, because the order of the file system may differ.
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = `${base}${entry.name}${entry.isDirectory() ? "/" : ""}`;
    if (isIgnored(path, levels)) listing.skipped.push(path);
    else if (entry.name.includes("\\"))
      throw new CliError(
        `${join(root, path)} has a backslash in its name, which a runner refuses. Rename it, or exclude it in .windlassignore.`,
      );
    else if (entry.isDirectory()) visit(root, path, levels, listing);
    else if (entry.isFile()) {
      listing.files.push(path);
      const file = join(root, path);
      listing.bytes += reading(file, () => statSync(file)).size;
    } else checkRegular(join(root, path), entry);
  }
}

/** A link could lead out of the directory, so the runner refuses the whole archive. */
function checkRegular(path: string, entry: Dirent | Stats): void {
  if (entry.isFile()) return;
  throw new CliError(
    `${path} is ${entry.isSymbolicLink() ? "a symbolic link" : "not a regular file"}, which a runner refuses. Replace it, or exclude it in .windlassignore.`,
  );
}

/** The last matching rule wins: `.gitignore`, then the default rules, then `.windlassignore`. */
function isIgnored(path: string, levels: readonly IgnoreLevel[]): boolean {
  let ignored = false;
  const apply = (
    rules: Ignore,
    { base, below = "" }: Pick<IgnoreLevel, "base" | "below">,
  ): void => {
    const verdict = rules.test(below + path.slice(base.length));
    if (verdict.ignored) ignored = true;
    else if (verdict.unignored) ignored = false;
  };
  for (const level of levels) apply(level.git, level);
  apply(defaultRules, { base: "" });
  for (const level of levels) apply(level.windlass, level);
  return ignored;
}
