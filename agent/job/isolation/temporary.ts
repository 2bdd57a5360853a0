/**
 * The folder that a job's `TMPDIR` names. A provider listens on a Unix socket in it, `$TMPDIR/plugin` and up to ten digits, and the kernel
 * takes no longer path than 107 bytes. Where the workspace's own folder is too deep for that, a link in a short place leads to it.
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
  // The users of jobs go through it. It is not sticky, so they may follow a link that is not theirs.
  chmodSync(folder, 0o711);
  symlinkSync(temporary, join(folder, linkName));
  mkdirSync(dirname(record), { recursive: true, mode: 0o755 });
  symlinkSync(folder, record);
  return join(folder, linkName);
}

/** Removes the short path; the workspace's own folder goes with the workspace. */
export function closeTemporary({ shared }: Workspace): void {
  const record = recordOf(shared);
  if (!lstatSync(record, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const folder = readlinkSync(record);
  // At the level `process` a job can write the record.
  if (/^wl-\w{6}$/.test(basename(folder))) rmSync(folder, { recursive: true, force: true });
  rmSync(record);
}

/** Throws when jobs in this work directory would have no short enough path. */
export function checkTemporary(workDir: string): void {
  if (!fits(workspaceAt(join(workspacesFolder(workDir), randomUUID())).temporary)) shortPlace();
}

/** Where the sandbox of a job shows it its folder, at the levels that have one. */
export const sandboxTemporary = "/tmp/job";

const linkName = "t";
const recordOf = (shared: string): string => join(shared, "temporary");
const fits = (folder: string): boolean => Buffer.byteLength(join(folder, longestName)) <= pathLimit;

function shortPlace(): string {
  const places = [...new Set(["/tmp", tmpdir()])].filter(existsSync);
  const place = places.find((path) => fits(join(path, "wl-XXXXXX", linkName)));
  if (place !== undefined) return place;
  throw new Error(
    `a provider's Unix socket needs a path of at most ${pathLimit} bytes, and neither /tmp nor TMPDIR of the agent is such a place`,
  );
}
