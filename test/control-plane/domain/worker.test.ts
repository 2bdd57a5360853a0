import { expect, it } from "vitest";
import { isBehind } from "../../../control-plane/domain/worker.ts";

it.each<[version: string | null, latest: string | null, behind: boolean]>([
  ["1.9.0", "1.10.0", true],
  ["1.10.0-rc.1", "1.10.0", true],
  ["1.10.0", "1.10.0", false],
  ["1.10.0+build", "1.10.0", false],
  ["2.0.0", "1.10.0", false],
  // An invalid version is never behind.
  ["main", "1.10.0", false],
  [null, "1.10.0", false],
  ["1.9.0", null, false],
])("a runner of version %s is behind the published %s: %s", (version, latest, behind) => {
  expect(isBehind(version, latest)).toBe(behind);
});
