/** Prompts on the terminal. They are written to stderr. */
import { createInterface } from "node:readline";
import { withVisibleDirections } from "../../common/control-sequences.ts";
import { readHiddenLine } from "../../common/hidden-line.ts";
import { CliError, say } from "./output.ts";

/** Whether both stdin and stderr are terminals. */
export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY;

/** What a command says instead of a question that cannot be asked. */
export const notATerminal =
  "Not a terminal, so the question cannot be asked. Pass --yes to confirm.";

/** Reads one trimmed line; undefined at the end of input, on Ctrl-C, or when `signal` aborts. */
export async function askLine(question: string, signal?: AbortSignal): Promise<string | undefined> {
  if (signal?.aborted) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const close = (): void => lines.close();
  signal?.addEventListener("abort", close);
  try {
    return await new Promise((resolve) => {
      lines.once("SIGINT", close);
      lines.once("close", () => resolve(undefined));
      lines.question(withVisibleDirections(question), (answer) => resolve(answer.trim()));
    });
  } finally {
    signal?.removeEventListener("abort", close);
    lines.close();
    process.stdin.pause();
  }
}

/** Throws `CliError`: 1 after a no, 2 without a terminal or `--yes`, 130 after Ctrl-C. */
export async function confirm(
  question: string,
  { yes }: { yes?: boolean | undefined },
): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw new CliError(`${question} ${notATerminal}`, 2);
  const answer = await askLine(`${question} [y/N] `);
  if (answer === undefined) {
    say("");
    throw new CliError("", 130);
  }
  if (!isYes(answer)) throw new CliError("Not confirmed. Nothing was changed.", 1);
}

export const isYes = (answer: string | undefined): boolean => /^y(es)?$/i.test(answer ?? "");

/** Reads one line without echo. Throws `CliError` if it is empty. */
export async function askSecret(question: string): Promise<string> {
  const answer = await readHiddenLine(withVisibleDirections(question));
  if (answer === undefined) throw new CliError("", 130);
  if (answer === "") throw new CliError("The value must not be empty.");
  return answer;
}
