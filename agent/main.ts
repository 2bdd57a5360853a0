/** `windlass agent`: the runner. */
import type { Logger } from "pino";
import { ConfigError } from "../common/settings/config-error.ts";
import type { RunnerSignals } from "./runner.ts";
import { settingsHelp } from "../common/settings/help.ts";
import { registry } from "../common/settings/registry.ts";
import { version } from "../common/version.ts";
import { unknownWord } from "../common/wrong-usage.ts";

const usage = (): string => `Usage: windlass agent [command]

Takes jobs from the control plane and runs terraform for them. After the first
SIGTERM, SIGHUP or Ctrl-C it takes no new jobs and waits for the running ones.
The second signal cancels them. The third one ends the agent at once: terraform
keeps running, and the agent continues with it at its next start.

Commands:
  install                      install the agent as a service of this machine
                               (systemd)
  doctor                       check everything that an agent needs on this
                               machine
  health                       ask the running agent whether it works

Options:
  -h, --help                   print this help
  -V, --version                print the version

Settings come from the environment; secrets also from a file (NAME_FILE) or a
systemd credential. docs/settings.md describes them in detail.

${settingsHelp(registry.agent)}
Example:
  WINDLASS_URL=http://localhost:8080 WINDLASS_REGISTRATION_TOKEN=... \\
    windlass agent
`;

/** Exit codes: 0 stopped, 1 failed, 2 usage, 78 bad configuration or revoked identity. */
export async function main(args: string[]): Promise<void> {
  const [option, ...rest] = args;
  if (option === "--help" || option === "-h") return void process.stdout.write(usage());
  if (option === "--version" || option === "-V") return void process.stdout.write(`${version()}\n`);
  if (option === undefined) return await run();
  const command = commands.get(option);
  if (command === undefined)
    return fail(unknownWord("windlass agent", option, [...commands.keys()]), 2);
  process.exitCode = await command(rest);
}

/** Each returns its exit code, and loads only what it needs. */
const commands = new Map<string, (args: string[]) => Promise<number>>([
  ["install", async (args) => (await import("./install/command.ts")).installCommand(args)],
  ["doctor", async (args) => (await import("./doctor/command.ts")).doctorCommand(args)],
  ["health", async (args) => (await import("./monitoring/health.ts")).healthCommand(args)],
]);

/** Loads the agent only here, because its other commands need little of it. */
async function run(): Promise<void> {
  const [
    { readConfig },
    { openLog },
    { IdentityRevokedError, runAgent },
    { IsolationMissingError },
    { LockUnavailableError },
  ] = await Promise.all([
    import("./config.ts"),
    import("../common/log.ts"),
    import("./runner.ts"),
    import("./job/isolation/choose.ts"),
    import("./machine/lock.ts"),
  ]);
  try {
    const config = readConfig();
    const log = await openLog(config);
    for (const warning of config.warnings) log.warn(warning);
    const result = await runAgent(config, log, listenToSignals(log, config.stopSeconds));
    if (config.once && result === "ABANDONED") process.exitCode = 1;
  } catch (error) {
    const isConfiguration = [
      ConfigError,
      IdentityRevokedError,
      IsolationMissingError,
      LockUnavailableError,
    ].some((kind) => error instanceof kind);
    // A signal arrived before the agent had a job.
    const isStop = (error as Error).name === "AbortError";
    if (!isStop) fail(`windlass agent: ${(error as Error).message}`, isConfiguration ? 78 : 1);
  }
  // Does not wait for a terraform, which the next start continues with, or for a request whose
  // response is not needed.
  process.exit();
}

/** The first signal drains; `stopSeconds` later the running jobs are cancelled. */
function listenToSignals(log: Logger, stopSeconds: number): RunnerSignals {
  const noMoreWork = new AbortController();
  const stopWork = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopWork.signal.aborted) {
      log.warn({ signal }, "ending at once; the next start continues with the running jobs");
      process.exit(1);
    }
    if (noMoreWork.signal.aborted) {
      log.warn({ signal }, "cancelling the running jobs");
      return stopWork.abort();
    }
    noMoreWork.abort();
    log.info({ signal }, "taking no new jobs; waiting for the running ones");
    if (stopSeconds === Infinity) return;
    const atDeadline = (): void => {
      if (stopWork.signal.aborted) return;
      log.warn(`WINDLASS_STOP_SECONDS=${stopSeconds} has passed: cancelling the running jobs`);
      stopWork.abort();
    };
    setTimeout(atDeadline, stopSeconds * 1000).unref();
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, onSignal);
  return { noMoreWork: noMoreWork.signal, stopWork: stopWork.signal };
}

function fail(message: string, code: number): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}
