/**
 * Reads files that a job may have replaced by a link to one of the agent, a pipe or an endless
 * file. The agent has more rights, so it opens only plain files within the workspace.
 */
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  fstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { StepFailedError } from "./context.ts";
import { mebibyte } from "../../common/units.ts";

/** Configurations and backend records are far smaller. */
const readLimit = 16 * mebibyte;

/** Returns the text of a file in the workspace, or undefined if there is none. */
export function readJobFile(root: string, path: string, limit = readLimit): string | undefined {
  const file = openJobFile(root, path);
  if (file === undefined) return undefined;
  try {
    if (fstatSync(file).size > limit) throw refusal(path, `it is larger than ${limit} bytes`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/**
 * With mode 0600. Returns false if there is no such file. Throws StepFailedError if it has more
 * bytes, including holes, which would take space in the copy.
 */
export async function copyJobFile(
  root: string,
  from: string,
  to: string,
  limit: number,
): Promise<boolean> {
  const file = openJobFile(root, from);
  if (file === undefined) return false;
  const { size } = fstatSync(file);
  if (size > limit) {
    closeSync(file);
    throw refusal(from, `it has ${size} bytes, more than ${limit}`);
  }
  rmSync(to, { force: true });
  // A process of the job may still be running and write to it.
  const content = createReadStream(from, { fd: file, end: Math.max(0, size - 1) });
  await pipeline(content, createWriteStream(to, { flags: "wx", mode: 0o600 }));
  return true;
}

/** Returns undefined if there is no file. Throws StepFailedError if there is anything else. */
export function openJobFile(
  root: string,
  path: string,
  access = constants.O_RDONLY,
): number | undefined {
  let real: string;
  let file: number;
  try {
    real = realpathSync(path);
    // Without this flag, opening a pipe would wait for a writer.
    file = openSync(real, access | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw refusal(path, "it is a link");
    throw error;
  }
  const stat = fstatSync(file);
  const lack =
    !real.startsWith(`${realpathSync(root)}${sep}`) || truePath(file, real) !== real
      ? "it leads out of the workspace"
      : !stat.isFile() || stat.nlink > 1
        ? "it is not a regular file"
        : undefined;
  if (lack === undefined) return file;
  closeSync(file);
  throw refusal(path, lack);
}

/** The file that was opened, whatever the path has become since. */
function truePath(file: number, otherwise: string): string {
  return process.platform === "linux" ? readlinkSync(`/proc/self/fd/${file}`) : otherwise;
}

const refusal = (path: string, why: string): StepFailedError =>
  new StepFailedError(`${path} is not read: ${why}`);
