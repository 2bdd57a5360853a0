/** `windlass agent doctor`: prints one line for each thing that an agent needs. */
import { parseArgs } from "node:util";
import { finding, ok, type Finding } from "../../common/doctor/finding.ts";
import { printFindings } from "../../common/doctor/print.ts";
import { ConfigError } from "../../common/settings/config-error.ts";
import { wrongUsage } from "../../common/wrong-usage.ts";
import type { AgentConfig } from "../config.ts";
import { useNetwork } from "../machine/network.ts";
import { readConfigOrInstalled } from "./config.ts";

const usage = `Usage: windlass agent doctor [options]

Checks everything that an agent needs on this machine: settings, server,
certificate, proxy, clock, identity, work directory, status address, engine,
provider mirror, git, isolation, the kinds of cloud identities, and a cloud
role if you name one. Changes nothing. The exit code is 1 if a check fails.

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
  const findings = examine(options["role-arn"], options["external-id"]);
  return printFindings(findings, { json: options.json, conclude: conclusionOf });
}

function conclusionOf(findings: readonly Finding[]): string {
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
  const { identities } = await import("./identity-checks.ts");
  yield await identities(config);
  yield await machine.cloudRole(config, { arn, externalId });
}
