/**
 * `kill -9` of the agent in mid-apply, again and again at other moments of it: every apply comes to its end, once, with the right result and a
 * log that is byte for byte what terraform wrote; no lock and no process is left. Under prove a hundred times. Every other moment of every
 * kind of job is in kill-table.test.ts.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { killedJob } from "../helpers/killed-job.ts";
import { points, type Point } from "../helpers/kill-points.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";

const times = process.env["WINDLASS_PROVE"] === "1" ? 100 : 1;
/** As many as two cores can take at once. */
const lanes = 3;

const { plane } = planeForFile();

const midApply = points.find(({ name }) => name === "apply: a provisioner runs") as Point;
/** So long after the apply's own command has begun to print, which it does until the agent is dead. */
const after = (milliseconds: number): Point => ({
  ...midApply,
  arm: (stand) => {
    const { reached, letGo } = midApply.arm(stand);
    return { reached: reached.then(() => sleep(milliseconds)), letGo };
  },
});

test(`${times} of ${times} applies whose agent is killed in the middle come to the right end`, async () => {
  // Spread evenly over a few posts of the log, which are a tenth of a second apart.
  const moments = Array.from({ length: times }, (_, index) => (500 * index) / times);
  let passed = 0;
  const lane = async (): Promise<void> => {
    for (let moment = moments.shift(); moment !== undefined; moment = moments.shift()) {
      await killedJob(plane, "DEPLOY", after(moment));
      passed++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  expect(passed).toBe(times);
});
