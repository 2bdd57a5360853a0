/** `windlass server teams admin`: repairs a team without an admin. The server may be running. */
import { parseArgs } from "node:util";
import { program } from "../../common/version.ts";
import { unknownWord, wrongUsage } from "../../common/wrong-usage.ts";
import { readConfig } from "../config.ts";
import { RefusalError } from "../domain/refusal.ts";
import { makeAdmin } from "../services/teams/repair.ts";
import { withStore } from "./beside-server.ts";

const usage = `Usage: windlass server teams admin SLUG USER

Makes a user an admin of a team, also one who is no member. This repairs a team
whose last admin was one by a group of a sign-in provider and has left it. USER
is the e-mail address of someone who has signed in, or the id of the user. The
audit log of the team gets an entry. The server may be running.

Example:
  windlass server teams admin platform ada@example.com
`;

export async function teams(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    options: { help: { type: "boolean", short: "h" } },
    allowPositionals: true,
  });
  if (values.help) return void process.stdout.write(usage);
  const [verb, slug, user, ...others] = positionals;
  if (verb !== undefined && verb !== "admin")
    return refuse(unknownWord("windlass server teams", verb, ["admin"]));
  if (slug === undefined || user === undefined || others.length > 0)
    return refuse(wrongUsage("windlass server teams", "windlass server teams: pass SLUG and USER"));
  await withStore(readConfig(), async (store) => {
    try {
      const { email, wasAdmin, isBlocked } = await makeAdmin({ store, now: Date.now }, slug, user);
      process.stdout.write(
        wasAdmin
          ? `${email} is an admin of the team "${slug}" already.\n`
          : `${email} is an admin of the team "${slug}" now: ${program()} teams use ${slug}\n`,
      );
      if (isBlocked)
        process.stderr.write(
          `windlass server teams: warning: ${email} is blocked and cannot sign in. Unblock the user on the page /operator\n`,
        );
    } catch (error) {
      if (!(error instanceof RefusalError)) throw error;
      process.stderr.write(`windlass server teams: ${error.message}\n`);
      process.exitCode = 1;
    }
  });
}

function refuse(text: string): void {
  process.stderr.write(`${text.trimEnd()}\n`);
  process.exitCode = 2;
}
