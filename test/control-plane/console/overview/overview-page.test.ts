import { describe, expect } from "vitest";
import type { LogResource } from "../../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../../protocol/plan-summary.ts";
import { writeState } from "../../../helpers/console/sample-pages.ts";
import { callsOf } from "../../../helpers/plane/calls.ts";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { setRows } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser } from "../../../helpers/plane/sample-data.ts";

const { plane, it } = planeForFile();

const summary: PlanSummary = {
  ...emptySummary,
  counts: { ...emptySummary.counts, create: 10, replace: 2 },
  changes_omitted: 12,
};

describe("the overview", () => {
  it("lists first what needs a person, each with the way to it", async () => {
    const user = await openSampleUser(plane);
    const page = () => user.page("/");
    expect(words(await page())).not.toContain("Needs you");

    const broken = await user.configure("broken");
    await user.run({ job_type: "PLAN", configuration_id: broken }, "FAILED", {
      error_message: "Error: no such region",
    });
    const locked = await user.configure("locked");
    await writeState(plane, user, locked);
    const stuck = await user.queue({ job_type: "PLAN", configuration_id: broken, labels: ["gpu"] });
    await setRows(plane, "workers", { offline_at: Date.now() }, { id: user.worker });

    const { text } = await page();
    const [first = "", rest = ""] = text.split("<h2>Running</h2>");
    expect(rest).not.toBe("");
    for (const link of [
      `/configurations/${broken}`,
      `/configurations/${locked}/state`,
      `/jobs/${stuck.id}`,
      `/workers/${user.worker}`,
    ])
      expect(attributes(first, "a")).toContain(link);
    for (const said of [
      "Error: no such region",
      "No worker has the label gpu: give it to a worker that is to run the job.",
      " is offline",
    ])
      expect(words(first)).toContain(said);
  });
});

describe("a failed apply", () => {
  it("is shown in the same words before and after a PLAN, until an apply succeeds", async () => {
    const user = await openSampleUser(plane);
    const configuration_id = await user.configure("network");
    const run = async (job_type: "PLAN" | "DEPLOY", status: "SUCCESS" | "FAILED", more = {}) => {
      const id = await user.run({ job_type, configuration_id }, status, more);
      return id;
    };
    const pages = [
      "/",
      "/zones",
      `/zones/${user.owner.zone}`,
      `/configurations/${configuration_id}`,
    ];
    const read = (path: string) => user.page(path);
    const first = await run("DEPLOY", "FAILED", { error_message: "Error: half done" });
    for (const _ of ["before a PLAN", "after it"]) {
      for (const path of pages.filter((one) => one !== "/zones")) {
        const answer = await read(path);
        expect(words(answer)).toMatch(/last DEPLOY failed \d+ s ago/);
        expect(words(answer)).toContain("Error: half done");
        expect(texts(answer, `[href="/jobs/${first}"]`)).toContainEqual(
          expect.stringMatching(/^last DEPLOY/),
        );
      }
      const badges = async (path: string) => texts(await read(path), ".badge.FAILED");
      expect(await badges("/zones")).toContain("1 did not succeed");
      for (const path of pages.slice(2))
        expect(await badges(path)).toContain("Not deployed, last deploy failed");
      await run("PLAN", "SUCCESS");
    }
    await run("DEPLOY", "SUCCESS");
    for (const path of pages)
      expect(words(await read(path))).not.toMatch(/last DEPLOY|last deploy|Needs you/);
  });
});

describe("a running apply on the overview", () => {
  it("shows how many of the resources of its plan are changed", async () => {
    const user = await openSampleUser(plane);
    const configuration_id = await user.configure("network");
    const plan = await user.run({ job_type: "PLAN", configuration_id }, "SUCCESS", {
      plan_summary: summary,
    });
    const deploy = await user.begin({ job_type: "DEPLOY", configuration_id, plan_job_id: plan });
    const progress = async () => /\d+ of \d+ resources?/.exec(words(await user.page("/")))?.[0];
    expect(await progress()).toBeUndefined();
    const at = new Date().toISOString();
    const of = (address: string, event: LogResource["event"]): LogResource => ({
      address,
      action: "create",
      event,
      at,
    });
    const replaced = (event: LogResource["event"], action: LogResource["action"]): LogResource => ({
      address: "c",
      action,
      event,
      at,
    });
    // Each post repeats those before it, which are stored once.
    const events = [of("a", "started"), of("b", "started"), of("a", "ended")];
    const post = async (...more: readonly LogResource[]) => {
      events.push(...more);
      await user.resources(deploy, events);
      return progress();
    };
    expect(await post()).toBe("1 of 12 resources");
    const half = [replaced("started", "delete"), replaced("ended", "delete")];
    expect(await post(...half, replaced("started", "create"))).toBe("1 of 12 resources");
    expect(await post(replaced("ended", "create"))).toBe("2 of 12 resources");
  });
});

describe("recently ended jobs", () => {
  /** Ends a PLAN of a configuration. */
  const runner = (user: SampleUser) => async (id: string, status: "SUCCESS" | "FAILED") => {
    const job = await user.run({ job_type: "PLAN", configuration_id: id }, status);
    return job;
  };
  const recentOf = ({ text }: { text: string }): string =>
    text.split("<h2>Recently ended</h2>")[1] ?? "";
  const jobsIn = (text: string) =>
    attributes(text, "[href^='/jobs/']").map((link) => link?.slice("/jobs/".length));

  it("are one row for each configuration, with the number of earlier ones", async () => {
    const user = await openSampleUser(plane);
    const [busy, calm] = [await user.configure("busy"), await user.configure("calm")];
    const run = runner(user);
    await run(busy, "SUCCESS");
    await run(busy, "FAILED");
    const only = await run(calm, "SUCCESS");
    await run(busy, "SUCCESS");
    const newest = await run(busy, "SUCCESS");
    const page = await user.page("/");
    const recent = recentOf(page);
    expect(jobsIn(recent)).toEqual([newest, only]);
    expect(attributes(recent, "a")).toContain(`/configurations/${busy}/jobs`);
    expect(words(recent)).toContain("The last 30 jobs, one row for each configuration.");
    expect(words(recent)).toContain("busy and 3 earlier, 1 failed");
    expect(words(recent).match(/earlier/g)).toHaveLength(1);
  });

  it("are one row for a deleted configuration too", async () => {
    const user = await openSampleUser(plane);
    const configuration_id = await user.configure("gone & away");
    const run = runner(user);
    await run(configuration_id, "SUCCESS");
    await run(configuration_id, "FAILED");
    const newest = await run(configuration_id, "SUCCESS");
    const { ask: call } = callsOf(plane, user.headers);
    await call("deleteConfiguration", { params: { name: configuration_id } });
    const page = await user.page("/");
    const recent = recentOf(page);
    expect(jobsIn(recent)).toEqual([newest]);
    expect(words(recent)).toContain("gone & away and 2 earlier, 1 failed");
    const [all = ""] = attributes(recent, "[href^='/jobs?']");
    const names = texts(await user.page(all), "[href^='/jobs/']");
    expect(names.filter((name) => name.startsWith("PLAN"))).toHaveLength(3);
  });
});

describe("the title of a tab", () => {
  it("names what the page shows", async () => {
    const user = await openSampleUser(plane);
    const { id } = await user.queue({
      job_type: "PLAN",
      configuration_id: await user.configure("network"),
    });
    const titleOf = async (path: string) => texts(await user.page(path), "title")[0];
    expect(await titleOf("/")).toBe("Overview · Windlass");
    expect(await titleOf(`/jobs/${id}`)).toBe("PLAN of network · Windlass");
  });
});
