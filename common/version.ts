/** The version of this installation, here because no role may import another. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

let known: string | undefined;

/** Read once, because each heartbeat and each page needs it. */
export const version = (): string => (known ??= read());

function read(): string {
  const file = join(installedIn(), "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Returns the directory with package.json, one level up in a checkout and two in a package. */
export function installedIn(): string {
  const folder = ["..", "../.."]
    .map((up) => join(import.meta.dirname, up))
    .find((path) => existsSync(join(path, "package.json")));
  if (folder === undefined) throw new Error("package.json is missing from this installation");
  return folder;
}

/** What scripts/build.ts writes into a build. */
export interface Build {
  /** How it was packed: `tarball`, `deb`, `npm`, `image`; `build` by `npm run build`. */
  readonly package: string;
  /** The commit of the source, with `-dirty` if files had changed; `unknown` without git. */
  readonly commit: string;
}

/** The arguments by which git names the commit of a checkout, with `-dirty` if files had changed. */
export const describeCommit = (directory: string): string[] => [
  "-C",
  directory,
  "describe",
  "--always",
  "--dirty",
  "--abbrev=12",
  "--exclude=*",
];

/** How a person calls Windlass from the directory in which it is installed. */
export const program = (): string => (build() === undefined ? "bin/windlass" : "windlass");

/** Returns undefined in a checkout. */
export function build(): Build | undefined {
  const file = join(import.meta.dirname, "../build.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Build) : undefined;
}
