/** The isolation levels that work on this machine, detected as the agent does. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { chooseIsolation, lackOf } from "../../../agent/job/isolation/choose.ts";
import {
  levels,
  type Isolation,
  type IsolationSettings,
  type Level,
} from "../../../agent/job/isolation/isolation.ts";
import { scratch } from "./agent-process.ts";

/** Returns the settings of an agent in this work directory. Root may run jobs as other users. */
export function isolationSettings(workDir: string): Omit<IsolationSettings, "level"> {
  mkdirSync(workDir, { recursive: true });
  return {
    workDir,
    path: process.env["PATH"] ?? "",
    users: process.getuid?.() === 0 ? [1_880_000_000, 1_896_777_215] : undefined,
    readable: [],
    container: { engine: "docker", image: undefined, environment: {} },
  };
}

/**
 * Reports each level that does not work here as a skipped test, except `container`: it needs a
 * container engine, and its tests use a stand-in.
 */
export function skipAbsentLevels(lacking: readonly [Level, string][]): void {
  const absent = lacking.filter(([level]) => level !== "container");
  test.for(absent)("at level %s", ([, lack], context) => context.skip(lack));
}

/** Returns the levels that work here, weakest first, and the reasons why the others do not. */
export async function levelsHere(): Promise<{ working: Level[]; lacking: [Level, string][] }> {
  using place = scratch();
  const settings = isolationSettings(join(place.path, "work"));
  // Makes the work directory accessible to the users of jobs.
  await chooseIsolation(settings);
  const working: Level[] = [];
  const lacking: [Level, string][] = [];
  for (const level of levels) {
    const lack = await lackOf(level, settings);
    if (lack === undefined) working.push(level);
    else lacking.push([level, lack]);
  }
  return { working, lacking };
}

/** Removes everything of a job. */
export async function wipe(isolation: Isolation): Promise<void> {
  await isolation.leave();
  await isolation.remove();
}
