/** Uploads a directory as an archive. */
import type { Source } from "../../protocol/configurations.ts";
import { join, posix } from "node:path";
import type { Run } from "../run.ts";
import { shellWord } from "../../common/shell-word.ts";
import { isTerraform } from "./var-files.ts";
import { packDirectory } from "./pack.ts";
import { mebibyte } from "../../common/units.ts";

/**
 * Packs and uploads a directory, and prints to stderr what is included and what is left out.
 * `included` are paths that are packed even if they are ignored.
 */
export async function uploadDirectory(
  run: Run,
  directory: string,
  included: readonly string[],
  workingDirectory = "",
): Promise<Source> {
  const root = posix.join(".", workingDirectory).replace(/\/$/, "");
  const { bytes, sha256, files, skipped } = await packDirectory(directory, included);
  const size =
    bytes.length < mebibyte
      ? `${Math.ceil(bytes.length / 1024)} KiB`
      : `${(bytes.length / 1024 / 1024).toFixed(1)} MiB`;
  const digest = Buffer.from(sha256, "hex").toString("base64");
  const response = await run.api.send(
    "uploadArchive",
    { bytes },
    { headers: { "content-digest": `sha-256=:${digest}:` } },
  );
  await response.body.dump();
  const known = response.statusCode === 200 ? "; the server already has this archive" : "";
  run.done(
    `Packed ${files.length} ${files.length === 1 ? "file" : "files"} of ${directory} (${size})${known}.`,
  );
  // The client's own directory is no file of the user's.
  const others = skipped.filter((path) => path !== ".windlass/");
  if (others.length > 0) run.done(`Left out: ${listed(others)}.`);
  const option = (path: string): string => `--var-file ${shellWord(join(directory, path))}`;
  // In the order in which terraform reads them: each overrides those before it.
  const automatic = others
    .filter((path) => posix.dirname(path) === root && isAutomatic(path))
    .toSorted((a, b) => Number(isNamedAuto(a)) - Number(isNamedAuto(b)));
  const variables = others.find(
    (path) => isTerraform(path) && isOnTheWay(posix.dirname(path), root),
  );
  if (automatic.length > 0)
    run.done(
      `Terraform on this machine would read ${automatic.map((path) => posix.basename(path)).join(" and ")} by itself; the runner does not get ${automatic.length === 1 ? "it" : "them"}. To use the same values, pass: ${automatic.map(option).join(" ")}`,
    );
  else if (variables !== undefined)
    run.done(`To use a file of variables that was left out, pass it: ${option(variables)}`);
  return { type: "archive", sha256 };
}

/** Whether one of the directories contains the other: those beside it are of other roots. */
const isOnTheWay = (one: string, other: string): boolean =>
  [one, other].includes(".") ||
  `${one}/`.startsWith(`${other}/`) ||
  `${other}/`.startsWith(`${one}/`);

/** Whether terraform reads the file without being told to, if it is in its directory. */
const isAutomatic = (path: string): boolean =>
  isNamedAuto(path) || /(?:^|\/)terraform\.tfvars(?:\.json)?$/.test(path);
const isNamedAuto = (path: string): boolean => /\.auto\.tfvars(?:\.json)?$/.test(path);

const shownAtMost = 12;

function listed(paths: readonly string[]): string {
  const more = paths.length - shownAtMost;
  return paths.slice(0, shownAtMost).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
