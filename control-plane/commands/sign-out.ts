/** `windlass server sign-out`: ends all logins of a person. The server may be running. */
import { parseArgs } from "node:util";
import { readConfig } from "../config.ts";
import { signOutAddress } from "../services/people/operators.ts";
import { addressOf, withStore } from "./beside-server.ts";

const usage = `Usage: windlass server sign-out --email ADDRESS

Ends all logins of everyone who has this e-mail address: browser sessions,
clients, their event streams, and links that were not opened yet. A running
server refuses them at once. Access tokens keep working until they are revoked.
The person can sign in again if WINDLASS_SIGN_IN_ALLOW or an invitation permits
it: change that first, or block the person on the page /operator.

Example:
  windlass server sign-out --email you@example.com
`;

export async function signOut(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: { email: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return void process.stdout.write(usage);
  const email = addressOf("sign-out", values.email, usage);
  if (email === undefined) return;
  await withStore(readConfig(), async (store) => {
    const ended = await signOutAddress({ store, now: Date.now }, email);
    if (ended.length === 0) {
      process.stderr.write(`windlass server sign-out: no user has the address ${email}\n`);
      process.exitCode = 1;
    }
    for (const one of ended)
      process.stdout.write(
        `Ended ${one.logins} login${one.logins === 1 ? "" : "s"} of ${one.email}\n`,
      );
  });
}
