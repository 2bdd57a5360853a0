/**
 * `kill -9` of the agent at every point of every kind of job. The next agent completes the job:
 * each terraform command ran once, the result is right, the log equals the output of terraform, and
 * nothing remains. `npm run prove -- test/faults/kill-table.test.ts` runs and prints the whole
 * table; without it, a sample runs.
 */
import { afterAll, describe, expect, test } from "vitest";
import { kinds, points, type Kind, type Point } from "./kill-points.ts";
import { killedJob } from "./killed-job.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { proving } from "../helpers/project/proving.ts";

const passed = new Map<string, Set<Kind>>();

const { plane } = planeForFile();
afterAll(async () => {
  if (proving) process.stdout.write(`${table()}\n`);
});

async function killed(kind: Kind, point: Point): Promise<void> {
  await killedJob(plane, kind, point);
  passed.set(point.name, (passed.get(point.name) ?? new Set()).add(kind));
}

/** The points that run without WINDLASS_PROVE=1; apply-kills.test.ts has the middle of an apply. */
const sample: readonly (readonly [Kind, string])[] = [
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
    .filter((kind) => proving || sample.some(([of, name]) => of === kind && name === point.name))
    .map((kind) => [kind, point.name, point] as const),
);

test("the sample names existing points", () => {
  if (!proving) expect(cases).toHaveLength(sample.length);
});

describe("kill -9 of the agent", () => {
  test.concurrent.each(cases)(
    "in a %s, when %s: the next agent completes the job",
    (kind, _, point) => killed(kind, point),
  );
});
