/** The log of a job in short: one line for each step that succeeded. */
import { withoutControlSequences } from "../../common/control-sequences.ts";
import type { LogChunk } from "../../protocol/jobs.ts";
import { styled } from "../terminal/output.ts";
import { shortDuration } from "../terminal/times.ts";
import { logLines } from "./log-lines.ts";

export interface FoldedLog {
  add(chunk: LogChunk): void;
  /** Shows the last step: its lines unless the job succeeded. */
  end(hasSucceeded: boolean): void;
}

/** Lines of a step that are kept for the case that it fails; `windlass jobs logs` has all. */
const keptLines = 2000;

/** Passes lines to `show`. Warnings and errors are never folded. */
export function foldedLog(show: (line: string) => void): FoldedLog {
  let step: { readonly name: string; readonly start: number; end: number } | undefined;
  let kept: { readonly line: string; readonly isMessage: boolean }[] = [];
  let isFramed = false;
  const lines = logLines((line) => {
    const plain = withoutControlSequences(line);
    isFramed ||= plain.startsWith("╷");
    kept.push({ line, isMessage: isFramed || /^• (Warning|FAILED)/.test(plain) });
    isFramed &&= !plain.startsWith("╵");
    if (kept.length > keptLines) kept.shift();
  });
  const end = (hasSucceeded: boolean): void => {
    lines.flush();
    if (step && hasSucceeded)
      show(
        `${styled("green", "✓")} ${step.name.padEnd(14)} ${styled("dim", shortDuration(step.end - step.start))}`,
      );
    for (const { line, isMessage } of kept) if (isMessage || !hasSucceeded) show(line);
    kept = [];
    step = undefined;
  };
  return {
    add(chunk) {
      const { step: mark } = chunk;
      const at = Date.parse(mark?.at ?? "");
      if (mark?.event === "started") {
        // A step follows one that succeeded, except that of an apply, which saves its state.
        end(step?.name !== "apply");
        step = { name: mark.name, start: at, end: at };
      }
      lines.add(chunk);
      if (mark?.event === "ended" && step) step.end = at;
    },
    end,
  };
}
