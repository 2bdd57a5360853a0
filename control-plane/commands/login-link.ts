/**
 * `windlass server login-link`: prints a one-time sign-in link. Writes to the database of the
 * server, which may be running.
 */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";
import { refuseHalfMoved } from "../data-directory/move-mark.ts";
import { isDirectoryHeld } from "../data-directory/lock.ts";
import { createLink, linkMilliseconds } from "../services/people/logins.ts";
import { findFact } from "../store/facts.ts";
import { openBeside } from "../store/engines/sqlite.ts";
import { minute } from "../../common/units.ts";

const usage = `Usage: windlass server login-link --email ADDRESS

Prints a link with which the person with this e-mail address can sign in once,
within the next ${linkMilliseconds / minute} minutes. The first sign-in creates the user. The command
needs access to the server's data directory (WINDLASS_DATA_DIR), or to its
PostgreSQL database (WINDLASS_DATABASE_URL). The server may be running.

Example:
  windlass server login-link --email you@example.com
`;

/** Runs the command. Throws `ConfigError` if a setting is wrong. */
export async function loginLink(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { email: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return void process.stdout.write(usage);
  const email = values.email?.trim().toLowerCase() ?? "";
  if (!/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(email)) {
    process.stderr.write(
      values.email === undefined
        ? usage
        : `windlass server login-link: "${values.email}" is not an e-mail address\n`,
    );
    process.exitCode = 2;
    return;
  }
  const config = readConfig();
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
    const token = await createLink(store, email, Date.now());
    const server =
      config.publicUrl ??
      (await findFact(store.read, "public_url")) ??
      `http://${config.host}:${config.port}`;
    if (!config.postgres && !isDirectoryHeld(config.dataDirectory))
      process.stderr.write(
        `No server is running on ${config.dataDirectory}. Start it before you open the link. If it listens at another address than ${server}, create a new link then.\n`,
      );
    process.stdout.write(`${server}/login/link/${token}\n`);
  } finally {
    await store.close();
  }
}
