/**
 * A job's `TMPDIR`, in which providers listen on `$TMPDIR/plugin` with up to ten digits. The kernel
 * accepts paths of 107 bytes, so a short link leads to a longer one.
 */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { workspaceAt, workspacesFolder, type Workspace } from "../workspace.ts";

/** What `sun_path` of Linux holds, without the final NUL; on macOS it is 103. */
const pathLimit = process.platform === "linux" ? 107 : 103;
const longestName = "plugin0123456789";

/** Returns the short path, the same one for all commands of a job. It is made at the first call. */
export function openTemporary({ temporary, shared }: Workspace): string {
  if (fits(temporary)) return temporary;
  const record = recordOf(shared);
  const made = lstatSync(record, { throwIfNoEntry: false }) && readlinkSync(record);
  if (made) return join(made, linkName);
  const folder = mkdtempSync(join(shortPlace(), "wl-"));
  // The users of jobs pass through it. It is not sticky, so they may follow a link that belongs to
  // another user.
  chmodSync(folder, 0o711);
  symlinkSync(temporary, join(folder, linkName));
  mkdirSync(dirname(record), { recursive: true, mode: 0o755 });
  symlinkSync(folder, record);
  return join(folder, linkName);
}

/** Removes the short path; the directory in the workspace is removed with the workspace. */
export function closeTemporary({ shared }: Workspace): void {
  const record = recordOf(shared);
  if (!lstatSync(record, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const folder = readlinkSync(record);
  // At the level `process`, a job can write to the record.
  if (/^wl-\w{6}$/.test(basename(folder))) rmSync(folder, { recursive: true, force: true });
  rmSync(record);
}

/** Throws if no short path can be made for jobs in this work directory. */
export function checkTemporary(workDir: string): void {
  if (!fits(workspaceAt(join(workspacesFolder(workDir), randomUUID())).temporary)) shortPlace();
}

/** Where the sandbox shows a job its directory, at the levels that have a sandbox. */
export const sandboxTemporary = "/tmp/job";

const linkName = "t";
const recordOf = (shared: string): string => join(shared, "temporary");
const fits = (folder: string): boolean => Buffer.byteLength(join(folder, longestName)) <= pathLimit;

function shortPlace(): string {
  const places = [...new Set(["/tmp", tmpdir()])].filter(existsSync);
  const place = places.find((path) => fits(join(path, "wl-XXXXXX", linkName)));
  if (place !== undefined) return place;
  throw new Error(
    `a provider's Unix socket needs a path of at most ${pathLimit} bytes, and neither /tmp nor the agent's TMPDIR is short enough`,
  );
}
