/**
 * The table of kills: `kill -9` of the agent at every moment of every kind of job, started again: each terraform command ran once, the
 * result is right, the log is what terraform wrote, and nothing is left. `npm run prove -- test/faults/kill-table.test.ts` runs the whole
 * table and prints it; the suite runs a spread.
 */
import { afterAll, describe, expect, test } from "vitest";
import { kinds, points, type Kind, type Point } from "../helpers/kill-points.ts";
import { killedJob } from "../helpers/killed-job.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";

const proving = process.env["WINDLASS_PROVE"] === "1";
const passed = new Map<string, Set<Kind>>();

const { plane } = planeForFile();
afterAll(async () => {
  if (proving) process.stdout.write(`${table()}\n`);
});

async function killed(kind: Kind, point: Point): Promise<void> {
  await killedJob(plane, kind, point);
  passed.set(point.name, (passed.get(point.name) ?? new Set()).add(kind));
}

/** Which points the suite takes of each kind: one of each kind of moment; apply-kills.test.ts has the middle of an apply. */
const spread: readonly (readonly [Kind, string])[] = [
  ["PLAN", "the claim's response is lost"],
  ["PLAN", "the plan is being uploaded"],
  ["DEPLOY", "apply: exit code written, not read"],
  ["DESTROY", "end reported, the response is lost"],
];

function table(): string {
  const cell = ({ name, of }: Point, kind: Kind): string =>
    of.includes(kind) ? (passed.get(name)?.has(kind) ? "✓" : "**failed**") : "";
  const rows = points.map((point) => [point.name, ...kinds.map((kind) => cell(point, kind))]);
  const lines = [["killed when", ...kinds], ["---", ...kinds.map(() => ":-:")], ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const cases = points.flatMap((point) =>
  point.of
    .filter((kind) => proving || spread.some(([of, name]) => of === kind && name === point.name))
    .map((kind) => [kind, point.name, point] as const),
);

test("the spread names points that there are", () => {
  if (!proving) expect(cases).toHaveLength(spread.length);
});

describe("kill -9 of the agent", () => {
  test.concurrent.each(cases)("in a %s, when %s", (kind, _, point) => killed(kind, point));
});
