/** Uploads a directory as an archive. */
import type { Source } from "../../protocol/configurations.ts";
import { join } from "node:path";
import type { Run } from "../run.ts";
import { shellWord } from "../terminal/shell-word.ts";
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
  included: readonly string[] = [],
): Promise<Source> {
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
  const variables = others.find(isTerraform);
  if (variables !== undefined)
    run.done(
      `To use a file of variables that was left out, pass it: --var-file ${shellWord(join(directory, variables))}`,
    );
  return { type: "archive", sha256 };
}

const shownAtMost = 12;

function listed(paths: readonly string[]): string {
  const more = paths.length - shownAtMost;
  return paths.slice(0, shownAtMost).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
