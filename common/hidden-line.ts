/** Asks for a secret on the terminal. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

/**
 * Asks on stderr, reads without echo; undefined at the end of input and on Ctrl-C. Stdin must be a
 * terminal.
 */
export async function readHiddenLine(question: string): Promise<string | undefined> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Write the prompt only after the echo is off.
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  process.stderr.write(question);
  try {
    return await new Promise<string | undefined>((resolve) => {
      lines.once("SIGINT", () => lines.close());
      lines.once("close", () => resolve(undefined));
      lines.once("line", resolve);
    });
  } finally {
    lines.close();
    process.stdin.pause();
    process.stderr.write("\n");
  }
}
