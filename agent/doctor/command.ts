/** `windlass agent doctor`: prints one line for each thing that an agent needs. */
import { parseArgs, styleText } from "node:util";
import { ConfigError } from "../../common/settings/config-error.ts";
import { wrongUsage } from "../../common/wrong-usage.ts";
import type { AgentConfig } from "../config.ts";
import { useNetwork } from "../machine/network.ts";
import { readConfigOrInstalled } from "./config.ts";
import { finding, ok, type Finding, type State } from "./finding.ts";

const usage = `Usage: windlass agent doctor [options]

Checks everything that an agent needs on this machine: settings, server,
certificate, proxy, clock, identity, work directory, status address, engine,
provider mirror, git, isolation, and a cloud role if you name one. Changes
nothing. The exit code is 1 if a check fails.

Settings come from the environment, as for windlass agent. If WINDLASS_URL is
not set there, they come from /etc/windlass/agent.env.

Options:
  --role-arn ARN       assume this AWS role, as a job would
  --external-id ID     the external id of the cloud identity with that role
  --json               print the findings as one JSON array
  -h, --help           print this help

Examples:
  windlass agent doctor
  windlass agent doctor --role-arn arn:aws:iam::123456789012:role/windlass \\
    --external-id 0198…

As the user of the installed agent:
  sudo systemd-run --pipe --wait --collect --uid=windlass-agent \\
    --property=EnvironmentFile=/etc/windlass/agent.env \\
    --setenv=STATE_DIRECTORY=/var/lib/windlass-agent \\
    "$(command -v windlass)" agent doctor
`;

/** Runs the command. Returns the exit code: 0 no check failed, 1 a check failed, 2 wrong usage. */
export async function doctorCommand(args: string[]): Promise<number> {
  let options: ReturnType<typeof read>;
  try {
    options = read(args);
  } catch (error) {
    process.stderr.write(
      `${wrongUsage("windlass agent doctor", `windlass agent doctor: ${(error as Error).message}`)}\n`,
    );
    return 2;
  }
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  if (options["external-id"] !== undefined && options["role-arn"] === undefined) {
    const text = "windlass agent doctor: --external-id needs --role-arn";
    process.stderr.write(`${wrongUsage("windlass agent doctor", text)}\n`);
    return 2;
  }
  let isRead = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    isRead = false;
  });
  const findings: Finding[] = [];
  for await (const one of examine(options["role-arn"], options["external-id"])) {
    findings.push(one);
    if (!options.json) process.stdout.write(`${lineOf(one)}\n`);
    // Between two checks, because each removes what it has made.
    if (!isRead) break;
  }
  if (options.json) process.stdout.write(`${JSON.stringify(findings, null, 2)}\n`);
  else process.stdout.write(`\n${conclusionOf(findings)}\n`);
  return failures(findings) === 0 ? 0 : 1;
}

const failures = (findings: readonly Finding[]): number =>
  findings.filter(({ state }) => state === "failed").length;

function conclusionOf(findings: readonly Finding[]): string {
  const failed = failures(findings);
  if (failed > 0) return `${failed} ${failed === 1 ? "check" : "checks"} failed.`;
  // Only a registration, which uses the token up, shows whether it is valid.
  const isOpen = findings.some(({ check, state }) => check === "identity" && state === "skipped");
  return `The agent can work here${isOpen ? " if the server accepts the registration token" : ""}.`;
}

const read = (args: string[]) =>
  parseArgs({
    args,
    options: {
      "role-arn": { type: "string" },
      "external-id": { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  }).values;

/** Yields each finding as soon as it is known, because some checks take seconds. */
async function* examine(
  arn: string | undefined,
  externalId: string | undefined,
): AsyncGenerator<Finding> {
  let config: AgentConfig;
  try {
    config = readConfigOrInstalled();
    useNetwork(config.network);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield finding("settings", "failed", error.message, "windlass agent --help lists them");
    return;
  }
  const { warnings } = config;
  yield warnings.length > 0
    ? finding("settings", "warning", warnings.join("; "), "correct or remove it")
    : ok("settings", "valid");
  const { serverChecks } = await import("./server-checks.ts");
  yield* await serverChecks(config);
  const machine = await import("./machine-checks.ts");
  const { workDirectory } = await import("./work-directory.ts");
  const workDir = await workDirectory(config);
  yield workDir;
  if (config.statusAddress) yield await machine.status(config, config.statusAddress);
  yield await machine.engines(config);
  if (config.providerMirror) yield await machine.providers(config.providerMirror, config.network);
  yield await machine.git(config);
  yield workDir.state === "failed"
    ? finding("isolation", "skipped", "needs a work directory")
    : await machine.isolation(config);
  yield await machine.cloudRole(config, { arn, externalId });
}

const marks: Readonly<
  Record<State, readonly [mark: string, colour: "green" | "yellow" | "red" | "dim"]>
> = {
  ok: ["ok", "green"],
  warning: ["warning", "yellow"],
  failed: ["failed", "red"],
  skipped: ["skipped", "dim"],
};

function lineOf({ check, state, text, advice }: Finding): string {
  const [mark, colour] = marks[state];
  const shown = styleText(colour, mark.padEnd(8), { stream: process.stdout });
  return `${shown} ${check.padEnd(11)} ${text}${advice ? ` → ${advice}` : ""}`;
}
