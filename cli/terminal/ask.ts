/** Questions to the person at the terminal. They stand on stderr; in a pipe nothing is asked. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { Failure, say } from "./output.ts";

/** Whether somebody can answer. */
export const canAsk = (): boolean => process.stdin.isTTY && process.stderr.isTTY;

/** One line from the terminal, trimmed; undefined when there is none, when Ctrl-C came, or when `signal` ends the question. */
export async function askLine(question: string, signal?: AbortSignal): Promise<string | undefined> {
  if (signal?.aborted) return undefined;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const close = (): void => lines.close();
  signal?.addEventListener("abort", close);
  try {
    return await new Promise((resolve) => {
      lines.once("SIGINT", close);
      lines.once("close", () => resolve(undefined));
      lines.question(question, (answer) => resolve(answer.trim()));
    });
  } finally {
    signal?.removeEventListener("abort", close);
    lines.close();
    process.stdin.pause();
  }
}

/**
 * Goes on only when the person says yes. Throws `Failure`: with 2 where nobody can be asked and `--yes` is not given, with 1 at a no,
 * with 130 at Ctrl-C.
 */
export async function confirm(
  question: string,
  { yes }: { yes?: boolean | undefined },
): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw new Failure(`${question} Nobody can be asked here: add --yes`, 2);
  const answer = await askLine(`${question} [y/N] `);
  if (answer === undefined) {
    say("");
    throw new Failure("", 130);
  }
  if (!/^y(es)?$/i.test(answer)) throw new Failure("nothing was done", 1);
}

/** One line that the terminal does not show while it is typed. Throws `Failure` when none comes. */
export async function askSecret(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The terminal shows nothing that is typed from here on; only then is the question asked.
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  process.stderr.write(question);
  try {
    const answer = await new Promise<string | undefined>((resolve) => {
      lines.once("SIGINT", () => lines.close());
      lines.once("close", () => resolve(undefined));
      lines.once("line", resolve);
    });
    if (answer === undefined) throw new Failure("", 130);
    if (answer === "") throw new Failure("no value was given");
    return answer;
  } finally {
    lines.close();
    process.stdin.pause();
    say("");
  }
}
