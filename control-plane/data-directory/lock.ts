/** A second server in a data directory would delete the first one's uploads and decide its jobs. */
import { chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeDirectory } from "../../common/files.ts";
import type { ServerConfig } from "../config.ts";
import { isLocked, lockFile, type Release } from "../store/engines/process-locks.ts";

/** The name of the lock file. The file stays; its existence does not mean that the lock is held. */
export const lockName = "server.lock";

type Places = Pick<
  ServerConfig,
  "dataDirectory" | "databaseFile" | "artifactsDirectory" | "s3" | "postgres"
>;

/** Servers may share directories. Holds the locks until the release or the end of this process. */
export function holdData(...servers: readonly Places[]): Release {
  for (const { dataDirectory } of servers) makePassable(dataDirectory);
  return hold([...new Set(servers.flatMap(lockFiles))]);
}

/** Locks a data directory with the usual layout. Creates it. */
export function holdDirectory(directory: string): Release {
  makePassable(directory);
  return hold([join(directory, lockName)]);
}

/** Whether a server runs on this directory. */
export const isDirectoryHeld = (directory: string): boolean => isLocked(join(directory, lockName));

/** Others may pass through: a runner's work directory may be inside, with jobs of other users. */
function makePassable(directory: string): void {
  const isNew = makeDirectory(directory) !== undefined;
  // The server's umask would remove this from the mode of mkdir.
  if (isNew) chmodSync(directory, 0o711);
}

/** Takes all locks or none; throws if another process has one. */
function hold(files: readonly string[]): Release {
  const held: Release[] = [];
  const release = () => {
    for (const end of held) end();
  };
  try {
    for (const file of files) {
      makeDirectory(dirname(file), 0o700);
      const end = lockFile(file);
      if (end === undefined)
        throw new Error(
          `another Windlass server (or a restore, rotate-key or migrate-store) uses ${dirname(file)}; stop it, or set WINDLASS_DATA_DIR to another directory`,
        );
      held.push(end);
    }
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/** Database and blobs may be outside the data directory and used from another one. */
function lockFiles({
  dataDirectory,
  databaseFile,
  artifactsDirectory,
  s3,
  postgres,
}: Places): string[] {
  return [
    join(dataDirectory, lockName),
    ...(postgres !== undefined || dirname(databaseFile) === dataDirectory
      ? []
      : [`${databaseFile}.lock`]),
    // Control planes that share a database may share this directory too.
    ...(postgres === undefined && s3 === undefined ? [join(artifactsDirectory, lockName)] : []),
  ];
}
