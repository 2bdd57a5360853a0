/** `windlass server login-link`: prints a one-time link that signs a person in. Works beside a running server, on its data store. */
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { ConfigError } from "../../common/settings/config-error.ts";
import { readConfig } from "../config.ts";
import { createLink, linkMilliseconds } from "../services/people/logins.ts";
import { findFact } from "../store/facts.ts";
import { openBeside } from "../store/engines/sqlite.ts";
import { minute } from "../../common/units.ts";

const usage = `Usage: windlass server login-link --email ADDRESS

Prints a link that signs this person in, once, within ${linkMilliseconds / minute} minutes. The first use
makes the account. Needs the server's data directory (WINDLASS_DATA_DIR), so
only who can read that can make a link. The server may be running.

Example:
  windlass server login-link --email you@example.com
`;

/** The command's entry. Throws `ConfigError` for what the operator must set right. */
export async function loginLink(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { email: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return void process.stdout.write(usage);
  const email = values.email?.trim().toLowerCase() ?? "";
  if (!/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(email)) {
    process.stderr.write(
      values.email === undefined ? usage : `"${values.email}" is not an e-mail address\n`,
    );
    process.exitCode = 2;
    return;
  }
  const config = readConfig();
  if (!existsSync(config.databaseFile))
    throw new ConfigError(
      `there is no data store at ${config.databaseFile}; start the server once, or set WINDLASS_DATA_DIR to its directory`,
    );
  const store = await openBeside(config.databaseFile);
  try {
    const token = await createLink(store, email, Date.now());
    const server =
      config.publicUrl ??
      (await findFact(store.read, "public_url")) ??
      `http://${config.host}:${config.port}`;
    process.stdout.write(`${server}/login/link/${token}\n`);
  } finally {
    await store.close();
  }
}
