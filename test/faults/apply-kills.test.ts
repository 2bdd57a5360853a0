/**
 * `kill -9` of the agent at different moments of an apply: each apply runs once, with the right
 * result and a log that equals the output of terraform, and no lock and no process remains. A
 * hundred times with WINDLASS_PROVE=1. kill-table.test.ts has the other moments of every kind of
 * job.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { killedJob } from "./killed-job.ts";
import { points, type Point } from "./kill-points.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { proving } from "../helpers/project/proving.ts";

const times = proving ? 100 : 1;
/** The number of concurrent jobs for two cores. */
const lanes = 3;

const { plane } = planeForFile();

const midApply = points.find(({ name }) => name === "apply: a provisioner runs") as Point;
/** This time after the apply has begun to print, which it does until the agent is dead. */
const after = (milliseconds: number): Point => ({
  ...midApply,
  arm: (stand) => {
    const { reached, letGo } = midApply.arm(stand);
    return { reached: reached.then(() => sleep(milliseconds)), letGo };
  },
});

test(`${times} of ${times} applies whose agent is killed end with the right result`, async () => {
  // Spread evenly over a few log posts, which are a tenth of a second apart.
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
