/** `windlass server logins`: who is signed in. The server may be running. */
import { parseArgs } from "node:util";
import { readConfig } from "../config.ts";
import { admissionText } from "../services/people/admission.ts";
import { listPeople } from "../services/people/operators.ts";
import { withStore } from "./beside-server.ts";

const usage = `Usage: windlass server logins

Lists the people who are signed in or blocked: address, number of browser
sessions and of clients, time of the newest login, and what permits it, an
entry of WINDLASS_SIGN_IN_ALLOW, an invitation to a team, or a link of
windlass server login-link. The server may be running.

Example:
  windlass server logins
`;

const page = 200;

export async function logins(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { help: { type: "boolean", short: "h" } } });
  if (values.help) return void process.stdout.write(usage);
  const config = readConfig();
  const { oidc, providers, signInAllow } = config;
  await withStore(config, async (store) => {
    const context = { store, now: Date.now, oidc, providers, signInAllow };
    let before: string | undefined;
    for (;;) {
      const people = await listPeople(context, "", before, page);
      for (const one of people)
        process.stdout.write(
          [
            one.email,
            `${one.sessions} browser, ${one.clients} client`,
            one.signed_in_at ?? "-",
            one.blocked_at === null ? admissionText(one.admission) : "blocked",
          ].join("\t") + "\n",
        );
      before = people.at(-1)?.id;
      if (people.length < page) break;
    }
  });
}
