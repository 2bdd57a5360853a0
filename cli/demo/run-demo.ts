/** The demo from curtain to curtain: what happens in which order, and how it ends whatever happens. */
import { Failure, print, say, styled, whenReaderLeaves } from "../terminal/output.ts";
import { play } from "./steps.ts";
import { Stage } from "./processes.ts";

const interrupted = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** Runs the demo and answers its exit code. Nothing of it is left when it returns. */
export async function runDemo(options: { keep: boolean }): Promise<number> {
  const stage = new Stage();
  endOn(stage);
  const result = await play(stage, options).then(
    () => ({ code: 0, message: "" }),
    (error: unknown) => endOf(stage, error),
  );
  const keepLogs = result.code === 1;
  if (!keepLogs) print(styled("dim", "\nStopping everything and removing it …"));
  await stage.clear({ keepLogs });
  if (result.message !== "") say(`windlass demo: ${result.message}`);
  if (keepLogs) say(`The logs of control plane and runner are in ${stage.directory}/logs`);
  return result.code;
}

/** The first signal ends the demo in order; at the second one it leaves at once, and the cleaning goes on without it. */
function endOn(stage: Stage): void {
  for (const name of Object.keys(interrupted) as (keyof typeof interrupted)[]) {
    process.on(name, () => {
      if (stage.signal.aborted) process.exit(interrupted[name]);
      stage.stop(new Failure("", interrupted[name]));
    });
  }
  whenReaderLeaves(() => stage.stop(new Failure("", 0)));
}

/** What ended it: the reason it was told to stop is the cause; what failed afterwards is only its consequence. */
function endOf(stage: Stage, error: unknown): { code: number; message: string } {
  const cause: unknown = stage.signal.aborted ? stage.signal.reason : error;
  if (cause instanceof Failure) return { code: cause.exitCode, message: cause.message };
  return { code: 1, message: cause instanceof Error ? cause.message : String(cause) };
}
