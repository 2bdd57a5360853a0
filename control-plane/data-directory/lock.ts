/** One server at a time uses a data directory: a second one would delete the uploads of the first and decide its jobs. */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ServerConfig } from "../config.ts";
import { holdFile, type Release } from "../store/engines/hold.ts";

/** The lock's name in a directory. It stays there; that it exists says nothing. */
export const lockName = "server.lock";

type Places = Pick<ServerConfig, "dataDirectory" | "databaseFile" | "artifactsDirectory">;

/** Takes everything that the server keeps for this process, until the release or the process's end. Creates the directories. */
export const holdData = (places: Places): Release => hold(lockFiles(places));

/** Takes a data directory that has everything in its usual place. Creates it. */
export const holdDirectory = (directory: string): Release => hold([join(directory, lockName)]);

/** Throws when another server, a restore or a key rotation has one of the locks; then none is taken. */
function hold(files: readonly string[]): Release {
  const held: Release[] = [];
  const release = () => {
    for (const end of held) end();
  };
  try {
    for (const file of files) {
      // Others may go through: in a checkout the work directory of a runner stands in it, and jobs run as other users. All else in it is
      // private.
      mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
      const end = holdFile(file);
      if (end === undefined)
        throw new Error(
          `another Windlass server (or a restore or rotate-key) uses ${dirname(file)}; stop it, or set WINDLASS_DATA_DIR to another directory`,
        );
      held.push(end);
    }
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/** Database and blobs may be elsewhere, where a server with another data directory would find them. */
function lockFiles({ dataDirectory, databaseFile, artifactsDirectory }: Places): string[] {
  return [
    join(dataDirectory, lockName),
    ...(dirname(databaseFile) === dataDirectory ? [] : [`${databaseFile}.lock`]),
    join(artifactsDirectory, lockName),
  ];
}
