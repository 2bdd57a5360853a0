/**
 * The table of kills: `kill -9` of the agent at every moment of every kind of job, started again: each terraform command ran once, the
 * result is right, the log is what terraform wrote, and nothing is left. `npm run prove -- test/e2e/kill-table.test.ts` runs the whole
 * table and prints it; the suite runs a spread.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scratch, startAgent, until } from "../helpers/agent-process.ts";
import { heldTerraform } from "../helpers/held-terraform.ts";
import {
  archiveOf,
  configuration,
  keep,
  prepare,
  rightResult,
  sideEffects,
  written,
} from "../helpers/kill-jobs.ts";
import { commandsOf, kinds, points, type Kind, type Point } from "../helpers/kill-points.ts";
import { meddlingProxy } from "../helpers/meddling-proxy.ts";
import { startPlane, type Plane } from "../helpers/plane.ts";
import { processesOf } from "../helpers/processes.ts";
import { newUser } from "../helpers/user.ts";

const proving = process.env["WINDLASS_PROVE"] === "1";
const passed = new Map<string, Set<Kind>>();

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(async () => {
  await plane.close();
  if (proving) process.stdout.write(`${table()}\n`);
});

async function killed(kind: Kind, point: Point): Promise<void> {
  const user = await newUser(plane);
  using place = scratch();
  const [work, marks, kept] = ["work", "bin", "kept"].map((name) => join(place.path, name)) as [
    string,
    string,
    string,
  ];
  const terraform = heldTerraform(marks);
  const proxy = await meddlingProxy(plane.url);
  await using _ = { [Symbol.asyncDispose]: () => proxy.close() };
  const settings = {
    WINDLASS_URL: proxy.url,
    WINDLASS_WORK_DIR: work,
    WINDLASS_REGISTRATION_TOKEN: await user.registrationToken(),
    PATH: terraform.path,
    // A sandbox would hide the script and its counts; that its jobs survive too is shown in isolation.test.ts.
    WINDLASS_ISOLATION: process.getuid?.() === 0 ? "uid" : "process",
  };
  await using first = startAgent(settings);
  const source = await archiveOf(join(place.path, "source"), configuration(marks));
  const configuration_id = await user.configure({
    source: { type: "archive", sha256: await user.upload(source) },
  });
  const queue = await prepare(user, kind, configuration_id);
  await until(
    () => first.log().includes("ready for jobs") && readdirSync(join(work, "jobs")).length === 0,
  );
  const before = sideEffects(marks);
  terraform.forget();

  const directory = Promise.withResolvers<string>();
  proxy.onRequest = async ({ method, path, body }) => {
    if (method === "PUT" && path.endsWith("/status") && !body.includes('"PROCESSING"'))
      keep(join(await directory.promise, "runs"), kept);
    return true;
  };
  const armed = point.arm({
    proxy,
    terraform,
    agent: first,
    gate: join(marks, "gate"),
    directory: directory.promise,
  });
  const job = await queue();
  directory.resolve(join(work, "jobs", job.id));
  await armed.reached;
  first.kill("SIGKILL");
  expect(await first.exited).toBeNull();
  armed.letGo();

  await using second = startAgent(settings);
  const end = await user.released(job);
  expect(end).toMatchObject({
    status: "SUCCESS",
    error_message: null,
    attempt: 1,
    log_complete: true,
  });
  expect(terraform.ran().filter((command) => command !== "version")).toEqual(commandsOf[kind]);
  await rightResult(user, kind, end, before, sideEffects(marks));
  expect(await user.log(job, "STDOUT")).toBe(written(kept, "stdout"));
  expect(await user.log(job, "STDERR")).toBe(written(kept, "stderr"));

  await until(() => second.log().includes("ready for jobs"));
  await until(() =>
    ["jobs", "workspaces"].every((name) => readdirSync(join(work, name)).length === 0),
  );
  await until(() => processesOf(place.path).every((line) => line.startsWith(`${second.pid}:`)));
  second.kill("SIGTERM");
  expect(await second.exited).toBe(0);
  passed.set(point.name, (passed.get(point.name) ?? new Set()).add(kind));
}

/** Which points the suite takes of each kind: a spread that has each point of no return once. */
const spread: readonly (readonly [Kind, string])[] = [
  ["PLAN", "the claim is answered and not received"],
  ["PLAN", "the plan goes up"],
  ["PLAN", "its end told, not answered"],
  ["PLAN", "it is wiped"],
  ["DEPLOY of a plan", "the plan comes down"],
  ["DEPLOY", "its start told, not answered"],
  ["DEPLOY", "apply: while terraform waits for its state (POST)"],
  ["DEPLOY", "apply: its exit code is there and not read"],
  ["DESTROY", "apply: before terraform runs"],
  ["DESTROY_WORKER", "apply: a provisioner runs"],
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
