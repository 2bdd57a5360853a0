import { afterEach, expect, it, vi } from "vitest";
import { withProgress } from "../../../control-plane/backup/files.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("withProgress says done only for work that has succeeded, and nothing for short work", async () => {
  vi.useFakeTimers();
  const lines: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  const run = (seconds: number, end: () => void) =>
    withProgress(
      "copying",
      () => 2,
      async (step) => {
        step();
        await vi.advanceTimersByTimeAsync(seconds * 1000);
        end();
      },
    );
  await run(0.5, () => undefined);
  expect(lines).toEqual([]);
  await run(1, () => undefined);
  const failing = run(1, () => {
    throw new Error("the store is not available");
  });
  await expect(failing).rejects.toThrow("not available");
  expect(lines).toEqual(["copying: 1 of 2 files\n", "copying: done\n", "copying: 1 of 2 files\n"]);
});
