/** `windlass server login-link` writes to the database of the server, which may be running. */
import { parseArgs } from "node:util";
import { readConfig } from "../config.ts";
import { isDirectoryHeld } from "../data-directory/lock.ts";
import { addressOf, withStore } from "./beside-server.ts";
import { createLink, linkMilliseconds } from "../services/people/logins.ts";
import { findFact } from "../store/facts.ts";
import { minute } from "../../common/units.ts";

const usage = `Usage: windlass server login-link --email ADDRESS

Prints a link with which the person with this e-mail address can sign in once,
within the next ${linkMilliseconds / minute} minutes. The first sign-in creates the user. The command
needs access to the server's data directory (WINDLASS_DATA_DIR), or to its
PostgreSQL database (WINDLASS_DATABASE_URL). The server may be running.

Example:
  windlass server login-link --email you@example.com
`;

export async function loginLink(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { email: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return void process.stdout.write(usage);
  const email = addressOf("login-link", values.email, usage);
  if (email === undefined) return;
  const config = readConfig();
  await withStore(config, async (store) => {
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
  });
}
