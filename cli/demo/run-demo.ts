/** Runs the demo, or other steps with its processes, and cleans up however they end. */
import { CliError, print, say, styled, onOutputClosed } from "../terminal/output.ts";
import { demoEnvironment } from "../config.ts";
import { runSteps } from "./steps.ts";
import { DemoProcesses } from "./processes.ts";

const interrupted = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Runs the demo and returns its exit code. All its processes and files are removed by then. */
export function runDemo(options: { keep: boolean }): Promise<number> {
  const demo = new DemoProcesses({ environment: demoEnvironment() });
  return runProcesses("demo", demo, runSteps(demo, options), "Stopping and removing everything …");
}

/** Waits for the end of the steps, then stops everything. Returns the exit code of the command. */
export async function runProcesses(
  command: string,
  demo: DemoProcesses,
  steps: Promise<void>,
  lastWords: string,
): Promise<number> {
  stopOnSignals(demo);
  const result = await steps.then(
    () => ({ code: 0, message: "" }),
    (error: unknown) => resultOf(demo, error),
  );
  const keepLogs = result.code === 1;
  if (!keepLogs) print(styled("dim", `\n${lastWords}`));
  await demo.clear({ keepLogs });
  if (result.message !== "") say(`windlass ${command}: ${result.message}`);
  if (keepLogs) say(`The logs of the control plane and the runner are in ${demo.directory}/logs`);
  return result.code;
}

/** The first signal ends everything cleanly. The second one exits; the cleanup process continues. */
function stopOnSignals(demo: DemoProcesses): void {
  for (const name of Object.keys(interrupted) as (keyof typeof interrupted)[]) {
    process.on(name, () => {
      if (demo.signal.aborted) process.exit(interrupted[name]);
      demo.stop(new CliError("", interrupted[name]));
    });
  }
  onOutputClosed((error) => demo.stop(error));
}

/** Returns the exit code and message. If it was stopped, the reason is the cause of `error`. */
function resultOf(demo: DemoProcesses, error: unknown): { code: number; message: string } {
  const cause: unknown = demo.signal.aborted ? demo.signal.reason : error;
  if (cause instanceof CliError) return { code: cause.exitCode, message: cause.message };
  return { code: 1, message: cause instanceof Error ? cause.message : String(cause) };
}
