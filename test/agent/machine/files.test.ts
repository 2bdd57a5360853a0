import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makePassable } from "../../../agent/machine/files.ts";
import { scratch } from "../../helpers/agent/agent-process.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test("jobs' users may pass through the directories that are made above a private one", () => {
  using place = scratch();
  const before = join(place.path, "before");
  mkdirSync(before, { mode: 0o700 });
  makePassable(join(before, ".windlass/runners/agent"));
  expect(modeOf(join(before, ".windlass"))).toBe(0o711);
  expect(modeOf(join(before, ".windlass/runners"))).toBe(0o711);
  expect(modeOf(join(before, ".windlass/runners/agent"))).toBe(0o700);
  expect(modeOf(before)).toBe(0o700);
  makePassable(join(before, ".windlass/runners/agent"));
  expect(modeOf(join(before, ".windlass/runners/agent"))).toBe(0o700);
});
