/** `windlass server health`: asks the running server whether it works, for the probes of containers. */
import { parseArgs } from "node:util";
import { second } from "../../common/units.ts";
import { readConfig } from "../config.ts";
import { localUrl } from "./local-url.ts";

const usage = `Usage: windlass server health

Asks the server of this machine whether it works, as GET /healthz does, and
prints the answer. The exit code is 1 if there is none. A database that is away
changes nothing.

Settings come from the environment, as for windlass server.

Example:
  docker exec windlass windlass server health
`;

const patience = 4 * second;

/** Runs the command. Throws if no server answers, or not with a success. */
export async function health(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { help: { type: "boolean", short: "h" } } });
  if (values.help) return void process.stdout.write(usage);
  const url = `${localUrl(readConfig())}/healthz`;
  const response = await fetch(url, { signal: AbortSignal.timeout(patience) }).catch((error) => {
    throw new Error(`no answer from ${url}: ${(error.cause ?? error).message}`, { cause: error });
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} responds with ${response.status}: ${text.trim()}`);
  process.stdout.write(text);
}
