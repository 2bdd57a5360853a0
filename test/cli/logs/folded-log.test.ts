import { expect, test } from "vitest";
import { applyProgress } from "../../../cli/logs/apply-progress.ts";
import { foldedLog } from "../../../cli/logs/folded-log.ts";
import type { LogChunk } from "../../../protocol/jobs.ts";

const start = Date.parse("2026-11-21T10:00:00Z");
const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString();
const chunk = (log_chunk: string, more: Partial<LogChunk> = {}): LogChunk => ({
  id: 1,
  job_id: "01890a5d-ac96-774b-bcce-b302099a8057",
  log_chunk,
  stream_type: "STDOUT",
  created_at: at(0),
  ...more,
});
const step = (name: string, event: "started" | "ended", seconds: number): LogChunk =>
  chunk(event === "started" ? `terraform 1.14.0: ${name}\n` : "", {
    stream_type: "SYSTEM",
    step: { name, event, at: at(seconds) },
  });
const warning = "╷\n│ Warning: deprecated\n╵\n";

function shown(chunks: readonly LogChunk[], hasSucceeded: boolean): string[] {
  const lines: string[] = [];
  const log = foldedLog((line) => lines.push(line));
  for (const one of chunks) log.add(one);
  log.end(hasSucceeded);
  return lines;
}

const initAndApply = [
  chunk("Warning: no isolation\nWindlass agent\n", { stream_type: "SYSTEM" }),
  step("init", "started", 0),
  chunk("Initializing\n"),
  step("init", "ended", 1.25),
  step("apply", "started", 2),
  chunk(`creating\n${warning}Apply complete!`),
  step("apply", "ended", 74),
];
const framed = ["╷", "│ Warning: deprecated", "╵"];

test("a job that succeeds is one line for each step, with its warnings", () => {
  expect(shown(initAndApply, true)).toEqual([
    "• Warning: no isolation",
    "✓ init           1.3s",
    "✓ apply          1m 12s",
    ...framed,
  ]);
});

test("the step in which a job fails has all of its lines", () => {
  expect(shown(initAndApply, false).slice(1)).toEqual([
    "✓ init           1.3s",
    "• terraform 1.14.0: apply",
    "creating",
    ...framed,
    "Apply complete!",
  ]);
});

test("an apply whose state is saved afterwards has not succeeded", () => {
  const chunks = [...initAndApply, step("state", "started", 75), step("state", "ended", 76)];
  expect(shown(chunks, false)).toContain("creating");
  expect(shown(chunks, false).join("\n")).not.toContain("✓ apply");
});

test("an apply counts what is done and names the slowest", () => {
  const change = (address: string, event: "started" | "ended" | "failed"): LogChunk =>
    chunk("", {
      resource: { address, action: "create", event, at: at(0) },
      created_at: new Date(Date.now() - 9000).toISOString(),
    });
  const progress = applyProgress(7);
  expect(progress.text()).toBeUndefined();
  for (const one of ["a", "b", "c"]) progress.add(change(one, "started"));
  expect(progress.text()).toBe("0 of 7 · 9s a");
  progress.add(change("a", "ended"));
  progress.add(change("b", "failed"));
  expect(progress.text()).toBe("1 of 7 · 9s c");
  progress.add(change("c", "ended"));
  expect(progress.text()).toBe("2 of 7");
});
