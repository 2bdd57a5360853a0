/** `windlass agent health`: asks the running agent whether it works, for the probes of containers. */
import { get } from "node:http";
import { second } from "../../common/units.ts";
import { wrongUsage } from "../../common/wrong-usage.ts";
import { readConfigOrInstalled } from "../doctor/config.ts";
import { statusSocket } from "./local-status.ts";

const usage = `Usage: windlass agent health

Asks the agent of this machine whether it works, as GET /healthz does, and
prints the answer. The exit code is 1 if there is none. A control plane that is
away changes nothing.

Settings come from the environment, as for windlass agent. If WINDLASS_URL is
not set there, they come from /etc/windlass/agent.env.

Examples:
  windlass agent health
  docker exec windlass-agent windlass agent health

Options:
  -h, --help           print this help
`;

const patience = 4 * second;

/** Returns the exit code: 0 the agent works, 1 no answer, 2 wrong usage. */
export async function healthCommand(args: string[]): Promise<number> {
  if (args[0] === "--help" || args[0] === "-h") {
    process.stdout.write(usage);
    return 0;
  }
  if (args.length > 0) {
    const text = `windlass agent health: unexpected argument: ${args[0]}`;
    process.stderr.write(`${wrongUsage("windlass agent health", text)}\n`);
    return 2;
  }
  try {
    process.stdout.write(await read(statusSocket(readConfigOrInstalled().workDir), "/healthz"));
    return 0;
  } catch (error) {
    process.stderr.write(`windlass agent health: ${(error as Error).message}\n`);
    return 1;
  }
}

/** Returns the body. Throws if no agent answers, or not with 200. */
async function read(socketPath: string, path: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = get({ socketPath, path, signal: AbortSignal.timeout(patience) }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => (text += part));
    response.on("end", () =>
      response.statusCode === 200 ? resolve(text) : reject(new Error(text.trim())),
    );
    response.on("error", reject);
  });
  request.on("error", reject);
  return promise;
}
