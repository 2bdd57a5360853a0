/** Helpers of commands that use the database of a server, which may be running. */
import { existsSync } from "node:fs";
import { ConfigError } from "../../common/settings/config-error.ts";
import type { ServerConfig } from "../config.ts";
import { refuseHalfMoved } from "../data-directory/move-mark.ts";
import type { Store } from "../store/db.ts";
import { openBeside } from "../store/engines/sqlite.ts";

/** Runs work with the database. Throws `ConfigError` if there is none. */
export async function withStore(
  config: ServerConfig,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  if (!config.postgres && !existsSync(config.databaseFile))
    throw new ConfigError(
      `there is no database at ${config.databaseFile}; start the server once, or set WINDLASS_DATA_DIR to the server's data directory`,
    );
  const store = config.postgres
    ? await (
        await import("../store/engines/postgres.ts")
      ).openPostgresBeside({ ...config.postgres, connections: 2 })
    : await openBeside(config.databaseFile);
  try {
    await refuseHalfMoved(store);
    await work(store);
  } finally {
    await store.close();
  }
}

/** Returns the address of `--email`; undefined, after an error message, if it is not valid. */
export function addressOf(
  command: string,
  given: string | undefined,
  usage: string,
): string | undefined {
  const email = given?.trim().toLowerCase() ?? "";
  if (/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(email)) return email;
  process.stderr.write(
    given === undefined
      ? usage
      : `windlass server ${command}: "${given}" is not an e-mail address\n`,
  );
  process.exitCode = 2;
  return undefined;
}
