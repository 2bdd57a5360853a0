import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { exitTime } from "../../../../agent/job/terraform/process.ts";

it("exitTime is the time of the exit code, unless a job has set one before 1970", () => {
  const directory = mkdtempSync(join(tmpdir(), "exit-time-"));
  try {
    const code = join(directory, "code");
    expect(exitTime(directory)).toBeUndefined();
    writeFileSync(code, "000\n");
    utimesSync(code, 1000, 1000);
    expect(exitTime(directory)).toEqual(new Date(1_000_000));
    const before = new Date(-1_000_000);
    utimesSync(code, before, before);
    expect(exitTime(directory)).toBeUndefined();
  } finally {
    rmSync(directory, { recursive: true });
  }
});
