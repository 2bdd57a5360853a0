/**
 * Random orders of all events of jobs, with every invariant checked after every event: two
 * configurations, three runners, lost responses, late reports, cancels, drains, removals, retries,
 * restarts and silence. A failure names its seed and its events.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { seededBelow } from "../../helpers/plane/hostile-values.ts";
import { events, happen, openScene } from "./events.ts";
import { check, readJobs } from "./invariants.ts";
import { openWorld, type World } from "./world.ts";

const proving = process.env["WINDLASS_PROVE"] === "1";
const seeds = proving ? 100_000 : 100;
const length = 60;
/** The one seed to run, for debugging. */
const only = process.env["WINDLASS_TEST_SEED"];

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

it(`every invariant holds after every event of ${seeds} random orders`, async () => {
  const seen = new Set<string>();
  let jobs = 0;
  const [from, to] = only ? [Number(only), Number(only) + 1] : [0, seeds];
  for (let seed = from; seed < to; seed++) jobs += await play(seed, seen);
  // The orders reach every status.
  if (!only) {
    expect([...seen].toSorted()).toEqual([
      "CANCELLED",
      "FAILED",
      "PROCESSING",
      "QUEUED",
      "SUCCESS",
    ]);
    expect(jobs / seeds).toBeGreaterThan(3);
  }
});

async function play(seed: number, seen: Set<string>): Promise<number> {
  const random = seededBelow(seed);
  const names = Object.entries(events).flatMap(([name, [weight]]) =>
    Array.from({ length: weight }, () => name),
  );
  const scene = await openScene(world, random);
  const trail: string[] = [];
  let jobs = readJobs(scene);
  try {
    for (let count = 0; count < length; count++) {
      const name = names[random(names.length)]!;
      trail.push(name);
      await happen(scene, name);
      jobs = check(scene, jobs, name);
    }
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\nafter ${trail.join(", ")}`, {
      cause: error,
    });
  } finally {
    world.clear();
  }
  for (const { status } of jobs.values()) seen.add(status);
  return jobs.size;
}
