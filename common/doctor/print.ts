/** Prints the findings of a doctor, each as soon as it is known. */
import { styleText } from "node:util";
import type { Finding, State } from "./finding.ts";

/** Returns the exit code: 1 if a check has failed. `conclude`: the last line if none has. */
export async function printFindings(
  checks: AsyncIterable<Finding>,
  {
    json,
    conclude,
  }: { readonly json: boolean; readonly conclude: (all: readonly Finding[]) => string },
): Promise<number> {
  let isRead = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    isRead = false;
  });
  const findings: Finding[] = [];
  for await (const one of checks) {
    findings.push(one);
    if (!json) process.stdout.write(`${lineOf(one)}\n`);
    // Between two checks, because each removes what it has made.
    if (!isRead) break;
  }
  const failed = findings.filter(({ state }) => state === "failed").length;
  const last =
    failed === 0 ? conclude(findings) : `${failed} ${failed === 1 ? "check" : "checks"} failed.`;
  process.stdout.write(json ? `${JSON.stringify(findings, null, 2)}\n` : `\n${last}\n`);
  return failed === 0 ? 0 : 1;
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
