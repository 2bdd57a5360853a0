/**
 * A directory as a `.tar.gz` to upload: what git would ignore, terraform's own files, states and secrets stay here. The same files give the
 * same bytes, so that an unchanged directory is uploaded once.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import ignore, { type Ignore } from "ignore";
import { Failure } from "../terminal/output.ts";

export interface Packed {
  readonly bytes: Buffer;
  readonly sha256: string;
  readonly files: readonly string[];
  /** What stayed here, folders with a slash at their end. */
  readonly left: readonly string[];
}

/** Left out whatever `.gitignore` says, unless a `.windlassignore` takes it back with `!`. */
const defaults = [
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

const unwanted = ignore().add(defaults);

/** The runner takes no more (agent/job/source/archive.ts). */
const filesLimit = 20_000;

/** Packs the directory. Throws `Failure` when there is nothing to pack, a link in it, or too much. */
export async function packDirectory(directory: string): Promise<Packed> {
  const { files, left, bytes: size } = walk(directory);
  if (files.length === 0) throw new Failure(`${directory} has no files to upload`);
  if (files.length > filesLimit)
    throw new Failure(
      `${directory} has ${files.length} files, more than ${filesLimit}: leave some out in .windlassignore`,
    );
  if (!files.some((file) => /\.tf(\.json)?$|\.tofu(\.json)?$/.test(file)))
    throw new Failure(`${directory} has no .tf files: is it the right directory?`);
  // Loaded here, for it brings the schemas of all that is in that file.
  const { archiveLimit } = await import("../../protocol/configurations.ts");
  const tooLarge = (bytes: number): Failure => sizeFailure(directory, bytes, archiveLimit, files);
  // Text packs well, but a gigabyte of it is not read into memory to find out.
  if (size > 10 * archiveLimit) throw tooLarge(size);
  const { create } = await import("tar");
  const parts: Buffer[] = [];
  // Times and owners would make other bytes of the same files; gzip's own header has a time of zero already.
  const pack = create(
    { cwd: directory, gzip: { level: 9 }, portable: true, noMtime: true, follow: false },
    files.map((file) => (file.startsWith("@") ? `./${file}` : file)),
  );
  for await (const part of pack) parts.push(part);
  const bytes = Buffer.concat(parts);
  if (bytes.length > archiveLimit) throw tooLarge(bytes.length);
  return { bytes, sha256: createHash("sha256").update(bytes).digest("hex"), files, left };
}

function sizeFailure(
  directory: string,
  size: number,
  limit: number,
  files: readonly string[],
): Failure {
  const largest = files
    .map((file) => ({ file, size: statSync(join(directory, file)).size }))
    .toSorted((a, b) => b.size - a.size)
    .slice(0, 5)
    .map((one) => `\n  ${megabytes(one.size)}  ${one.file}`);
  return new Failure(
    `${directory} is ${megabytes(size)}, more than the ${megabytes(limit)} of an archive: leave something out in .windlassignore. The largest files:${largest.join("")}`,
  );
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

interface Found {
  readonly files: string[];
  readonly left: string[];
  bytes: number;
}

function walk(directory: string): Found {
  const found: Found = { files: [], left: [], bytes: 0 };
  try {
    if (!statSync(directory).isDirectory()) throw new Error("it is no directory");
  } catch (error) {
    throw new Failure(`${directory} cannot be packed: ${(error as Error).message}`);
  }
  visit(directory, "", [], found);
  return found;
}

/** What the ignore files of one directory say, as git reads them. */
interface Level {
  /** The directory, with a slash at its end. */
  readonly base: string;
  readonly git: Ignore;
  readonly windlass: Ignore;
}

function visit(root: string, base: string, above: readonly Level[], found: Found): void {
  const entries = readdirSync(join(root, base), { withFileTypes: true });
  const read = (name: string): Ignore => {
    const rules = ignore({ ignorecase: false });
    const isThere = entries.some((entry) => entry.name === name && entry.isFile());
    return isThere ? rules.add(readFileSync(join(root, base, name), "utf8")) : rules;
  };
  const levels = [...above, { base, git: read(".gitignore"), windlass: read(".windlassignore") }];
  // In a fixed order, whatever the file system's.
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = `${base}${entry.name}${entry.isDirectory() ? "/" : ""}`;
    if (isIgnored(path, levels)) found.left.push(path);
    else if (entry.isDirectory()) visit(root, path, levels, found);
    else if (entry.isFile()) {
      found.files.push(path);
      found.bytes += statSync(join(root, path)).size;
    } else
      throw new Failure(
        `${join(root, path)} is ${entry.isSymbolicLink() ? "a link" : "no plain file"}, which the runner refuses: replace it, or leave it out in .windlassignore`,
      );
  }
}

/** The last rule that says anything about the path decides: git's, then what is never wanted, then `.windlassignore`. */
function isIgnored(path: string, levels: readonly Level[]): boolean {
  let ignored = false;
  const apply = (rules: Ignore, base: string): void => {
    const verdict = rules.test(path.slice(base.length));
    if (verdict.ignored) ignored = true;
    else if (verdict.unignored) ignored = false;
  };
  for (const { base, git } of levels) apply(git, base);
  apply(unwanted, "");
  for (const { base, windlass } of levels) apply(windlass, base);
  return ignored;
}
