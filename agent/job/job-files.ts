/**
 * Reads what a job may have put in the place of its files: a link to the agent's own, a pipe that never ends, a file without an end. The
 * agent has rights that the job has not, so it follows a path only within the workspace and takes only plain files.
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
import { StepFailed } from "./context.ts";
import { mebibyte } from "../../common/units.ts";

/** Configurations and backend records are far smaller. */
const readLimit = 16 * mebibyte;

/** The text of a file in the workspace; undefined when there is none. */
export function readJobFile(root: string, path: string, limit = readLimit): string | undefined {
  const file = openJobFile(root, path);
  if (file === undefined) return undefined;
  try {
    if (fstatSync(file).size > limit) throw refusal(path, `it is over ${limit} bytes`);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/**
 * Copies a file of the workspace to a place of the agent's, mode 0600. False when there is none. Throws StepFailed when it is larger
 * than this many bytes, its holes counted: they would take space in the copy.
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
    throw refusal(from, `it has ${size} bytes, over ${limit}`);
  }
  rmSync(to, { force: true });
  // A process of the job that is left may still write to it.
  const content = createReadStream(from, { fd: file, end: Math.max(0, size - 1) });
  await pipeline(content, createWriteStream(to, { flags: "wx", mode: 0o600 }));
  return true;
}

/**
 * Opens a plain file of the workspace, to be read or to be cut. Undefined when there is none; throws StepFailed for anything else
 * that the job has put in its place.
 */
export function openJobFile(
  root: string,
  path: string,
  access = constants.O_RDONLY,
): number | undefined {
  let real: string;
  let file: number;
  try {
    real = realpathSync(path);
    // Opening a pipe would otherwise wait for a writer.
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
        ? "it is not a plain file"
        : undefined;
  if (lack === undefined) return file;
  closeSync(file);
  throw refusal(path, lack);
}

/** What was opened, whatever the path has become meanwhile. */
function truePath(file: number, otherwise: string): string {
  return process.platform === "linux" ? readlinkSync(`/proc/self/fd/${file}`) : otherwise;
}

const refusal = (path: string, why: string): StepFailed =>
  new StepFailed(`${path} is not read: ${why}`);
