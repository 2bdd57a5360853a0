/** A command of the client that runs while the test does something else. */
import { until } from "../agent/agent-process.ts";
import { windlass } from "./windlass.ts";

/** Starts `windlass <words>` in a pipe; the command is killed when the value is disposed. */
export function startCommand(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = process.cwd(),
) {
  const command = windlass(words, { env, cwd });
  let told = "";
  command.stderr?.on("data", (text: Buffer) => void (told += text.toString()));
  return {
    /** Waits for a text on stderr, and returns all of stderr so far. */
    says: (text: string): Promise<string> => until(() => told.includes(text) && told),
    interrupt: () => command.kill("SIGINT"),
    ended: async () => {
      const { exitCode, stdout, stderr } = await command;
      return { exitCode, stdout: String(stdout), stderr: String(stderr) };
    },
    [Symbol.asyncDispose]: async () => {
      command.kill("SIGKILL");
      await command;
    },
  };
}
