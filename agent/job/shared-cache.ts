/**
 * Keeps shared engines and packages within their limits: removes the least recently used, but none
 * that a workspace links to, which each does before it uses one.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { partialPrefix, storeFolder, packagesIn, storedPackages } from "./providers/store.ts";
import { workspaceAt, workspacesFolder, type Workspace } from "./workspace.ts";
import { day } from "../../common/units.ts";

/** What no job of a quarter of a year used belongs to versions that were left behind. */
const unusedDays = 90;

export const engineCache = (workDir: string): string => join(workDir, "engines");

interface CacheEntry {
  readonly path: string;
  readonly bytes: number;
  /** In milliseconds. */
  readonly used: number;
  remove(): void;
}

/**
 * Removes what exceeds `bytes` and what was not used for long; synchronously, so that no job gets
 * it meanwhile. Returns what was removed.
 */
export function keepWithin(workDir: string, bytes: number): string[] {
  const held = heldPaths(workDir);
  const kept = [...engines(workDir), ...packages(workDir)].toSorted((a, b) => a.used - b.used);
  const oldest = Date.now() - unusedDays * day;
  let total = kept.reduce((sum, one) => sum + one.bytes, 0);
  const removed: string[] = [];
  for (const one of kept) {
    if (held.has(one.path) || (total <= bytes && one.used >= oldest)) continue;
    one.remove();
    total -= one.bytes;
    removed.push(one.path);
  }
  return removed;
}

/** Removes incomplete copies of an agent that was killed. Only while no job runs. */
export function removePartials(workDir: string): void {
  const store = storeFolder(workDir);
  if (!existsSync(store)) return;
  for (const name of readdirSync(store)) {
    if (name.startsWith(partialPrefix)) rmSync(join(store, name), { recursive: true, force: true });
  }
}

/**
 * Returns false if it was just removed and must be looked for again. Engines outside the cache need
 * no record.
 */
export function holdEngine(workDir: string, workspace: Workspace, path: string): boolean {
  if (!path.startsWith(`${engineCache(workDir)}${sep}`)) return true;
  const link = engineLink(workspace);
  mkdirSync(dirname(link), { recursive: true, mode: 0o755 });
  rmSync(link, { force: true });
  symlinkSync(path, link);
  if (!existsSync(path)) return false;
  const now = new Date();
  utimesSync(dirname(path), now, now);
  return true;
}

const engineLink = ({ shared }: Workspace): string => join(shared, "engine");

function heldPaths(workDir: string): Set<string> {
  const folder = workspacesFolder(workDir);
  const workspaces = existsSync(folder) ? readdirSync(folder) : [];
  return new Set(
    workspaces.flatMap((name) => {
      const workspace = workspaceAt(join(folder, name));
      const links = packagesIn(join(workspace.shared, "providers")).map(({ path }) => path);
      return [engineLink(workspace), ...links].flatMap((link) =>
        lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(link) : [],
      );
    }),
  );
}

function packages(workDir: string): CacheEntry[] {
  return storedPackages(storeFolder(workDir)).map(({ path, record }) => ({
    path,
    bytes: record.bytes,
    used: statSync(path).mtimeMs,
    remove() {
      rmSync(path, { recursive: true });
      rmSync(`${path}.json`);
      removeEmpty(dirname(path), storeFolder(workDir));
    },
  }));
}

/** `engines/PROGRAM/VERSION/PROGRAM`. */
function engines(workDir: string): CacheEntry[] {
  const root = engineCache(workDir);
  return folders(root).flatMap((program) =>
    folders(join(root, program)).flatMap((version) => {
      const folder = join(root, program, version);
      const path = join(folder, program);
      const size = statSync(path, { throwIfNoEntry: false })?.size;
      if (size === undefined) return [];
      const used = statSync(folder).mtimeMs;
      return {
        path,
        bytes: size,
        used,
        remove() {
          rmSync(path);
          // Not while another job installs it again: that job holds a lock in this directory.
          removeEmpty(folder, root);
        },
      };
    }),
  );
}

const folders = (path: string): string[] =>
  existsSync(path)
    ? readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? entry.name : [],
      )
    : [];

function removeEmpty(folder: string, root: string): void {
  if (folder === root || readdirSync(folder).length > 0) return;
  rmdirSync(folder);
  removeEmpty(dirname(folder), root);
}
