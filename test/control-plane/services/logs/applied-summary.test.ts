import { beforeAll, expect, test } from "vitest";
import type { LogResource } from "../../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../../protocol/plan-summary.ts";
import { words } from "../../../helpers/console/forms.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane } = planeForFile();
let user: SampleUser;
let configuration_id: string;
beforeAll(async () => {
  user = await openSampleUser(plane);
  configuration_id = await user.configure("network");
});

const begin = async (job_type: "PLAN" | "DEPLOY" | "DESTROY"): Promise<string> => {
  return user.begin({ job_type, configuration_id });
};
const summaryOf = async (id: string): Promise<PlanSummary | null> =>
  (await user.client.call("getPlanSummary", { params: { id } })).plan_summary;
const read = async (path: string): Promise<string> => words(await user.page(path));
const none = emptySummary.counts;

test("a job that planned by itself lists what it changed", async () => {
  const job = await begin("DEPLOY");
  const changed: readonly (readonly [string, LogResource["action"]])[] = [
    ["a.made", "create"],
    ["a.moved", "update"],
    ["a.swapped", "delete"],
    ["a.gone", "delete"],
    ["a.swapped", "create"],
    ["a.taken", "import"],
    ["data.a.b", "read"],
  ];
  for (const [address, action] of changed)
    for (const event of ["started", "ended"] as const)
      await user.resource(job, { address, action, event });
  await user.end(job, "SUCCESS", { last_seq: 0 });
  expect(await summaryOf(job)).toMatchObject({
    counts: { ...none, create: 1, update: 1, replace: 1, delete: 1, import: 1 },
    changes: [
      { address: "a.swapped", action: "replace" },
      { address: "a.gone", action: "delete" },
      { address: "a.made", action: "create" },
      { address: "a.moved", action: "update" },
      { address: "a.taken", action: "none", imported: true },
    ],
    changes_omitted: 0,
  });
  const { resource_progress } = await user.read(job);
  expect(resource_progress?.resources?.slice(0, 2)).toEqual([
    { address: "a.swapped", action: "replace", outcome: "done" },
    { address: "a.gone", action: "delete", outcome: "done" },
  ]);
  const page = await read(`/jobs/${job}`);
  expect(page).toMatch(/What was changed[^]*− 1 destroyed[^]*a\.gone/);
  expect(page).toContain("Applied: 1 added, 1 changed, 1 replaced, 1 destroyed, 1 imported");
  expect(page).not.toContain("Plan: 1 to add");
});

test("every response but a list has the progress of an apply", async () => {
  const id = await begin("DEPLOY");
  await user.resource(id, { address: "a.made", action: "create", event: "started" });
  const cancelled = await user.client.call("cancelJob", { params: { id } });
  expect(cancelled).toMatchObject({ apply_began: true, resource_progress: { open: 1 } });
  expect(await user.read(id)).toEqual(cancelled);
  const { jobs } = await user.client.call("listJobs", { query: { id_prefix: id } });
  const { resource_progress: _, apply_began: __, reviewed_plan: ___, ...listed } = cancelled;
  expect(jobs).toEqual([listed]);
  await user.end(id, "CANCELLED");
});

test.each([
  ["Changes to Outputs:\n  + w = 1\n", { only: "outputs" }, true, "only outputs change"],
  ["\u001b[1mNo changes.\u001b[0m Your infrastructure matches.\n", {}, false, "no changes"],
  [
    "Plan: 0 to add, 0 to change, 0 to destroy.\n",
    { only: "state" },
    true,
    "only the state changes",
  ],
] as const)(
  "without resources, terraform's words count: %j",
  async (text, only, applyable, said) => {
    const job = await begin("DEPLOY");
    for (const part of [text.slice(0, 8), text.slice(8)]) await user.log(job, part);
    await user.end(job, "SUCCESS", { last_seq: 0 });
    expect(await summaryOf(job)).toMatchObject({ counts: { ...none, ...only }, applyable });
    expect((await user.read(job)).changes).toEqual({ ...none, ...only });
    const [, first = ""] = (await read("/jobs")).split("Who What ");
    expect(first.slice(0, 200)).toMatch(new RegExp(`^ ?DEPLOY network Succeeded [^]* ${said}`));
  },
);

test("nothing is assumed of a runner that tells no resources", async () => {
  const job = await begin("DEPLOY");
  await user.log(job, "No changes. Your infrastructure matches.\n");
  await user.end(job, "SUCCESS");
  expect(await summaryOf(job)).toBeNull();
});

test("a plan that changes only outputs, or only the state, says so in lists", async () => {
  const outputs = [{ name: "w", action: "create", sensitive: false }] as const;
  for (const [more, only] of [
    [{ outputs }, "outputs"],
    [{}, "state"],
  ] as const) {
    const plan = await begin("PLAN");
    await user.end(plan, "SUCCESS", { plan_summary: { ...emptySummary, ...more } });
    const { changes } = await user.read(plan);
    expect(changes).toEqual({ ...none, only });
  }
  const idle = await begin("PLAN");
  await user.end(idle, "SUCCESS", { plan_summary: { ...emptySummary, applyable: false } });
  expect((await user.read(idle)).changes).toEqual(none);
});

test("a log of unfinished control sequences does not stop the server", async () => {
  const job = await begin("DEPLOY");
  for (let n = 0; n < 8; n += 1) await user.log(job, "\u001b]".repeat(16_000));
  const start = performance.now();
  await user.end(job, "SUCCESS", { last_seq: 0 });
  expect(await summaryOf(job)).toBeNull();
  expect(performance.now() - start).toBeLessThan(5000);
});
