import { describe, expect } from "vitest";
import type { LogResource } from "../../../../protocol/jobs.ts";
import type { PlanSummary } from "../../../../protocol/plan-summary.ts";
import { writeState } from "../../../helpers/console/sample-pages.ts";
import { attributes, texts, words } from "../../../helpers/console/forms.ts";
import { setRows } from "../../../helpers/plane/plane.ts";
import { emptySummary } from "../../../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { openSampleUser } from "../../../helpers/plane/sample-data.ts";

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
    const [first = "", rest = ""] = text.split("<h2>Waiting</h2>");
    expect(rest).not.toBe("");
    expect(words(first)).toContain("4 things need you : no job is running, 1 is waiting");
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
      "The worker is offline",
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

describe("the fleet", () => {
  it("has a tile for each configuration by zone: runs, resources, last change", async () => {
    const user = await openSampleUser(plane);
    expect(words(await user.page("/"))).toContain("No configuration yet");
    const [own, broken] = [await user.configure("own"), await user.configure("broken")];
    const stored = await user.configure("stored");
    await writeState(plane, user, stored, undefined, "SUCCESS");
    const job = await user.run({ job_type: "DEPLOY", configuration_id: own }, "SUCCESS");
    await user.run({ job_type: "PLAN", configuration_id: own }, "SUCCESS");
    await user.run({ job_type: "PLAN", configuration_id: broken }, "FAILED");
    const page = await user.page("/");
    expect(texts(page, "h2")).toContain("production 3");
    expect(texts(page, ".tile").map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
      expect.stringMatching(
        /^broken Failed Last runs: 0 of 1 succeeded, 1 failed Nothing deployed/,
      ),
      expect.stringMatching(/^own Deployed Last runs: 2 of 2 succeeded Resources not known \d/),
      expect.stringMatching(/^stored Deployed Last runs: .* 11 resources \d/),
    ]);
    expect(attributes(page, ".tile a")).toContain(`/jobs/${job}`);
  });

  it("shows those that ran last of many, and the way to the others", async () => {
    const user = await openSampleUser(plane);
    const first = await user.configure("first");
    for (let at = 0; at < 48; at += 1) await user.configure(`other-${at}`);
    const tiles = async () => attributes(await user.page("/"), ".tile .whole");
    expect(await tiles()).toHaveLength(48);
    expect(await tiles()).not.toContain(`/configurations/${first}`);
    await user.run({ job_type: "PLAN", configuration_id: first }, "SUCCESS");
    expect(await tiles()).toHaveLength(48);
    expect(await tiles()).toContain(`/configurations/${first}`);
    expect(words(await user.page("/"))).toContain(
      "The 48 configurations that ran last. All are in",
    );
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

describe("failed checks after a deployment that succeeded", () => {
  it("are a warning wherever the configuration and its jobs are shown, until a later one has none", async () => {
    const user = await openSampleUser(plane);
    const configuration_id = await user.configure("network");
    const run = (status: "pass" | "fail") =>
      user.run({ job_type: "DEPLOY", configuration_id }, "SUCCESS", {
        execution_metadata: {
          made_known: { resources: [], checks: [{ address: "check.health", status }] },
        },
      });
    const id = await run("fail");
    const deployed = "Deployed, 1 check failed";
    const pages = {
      "/": "1 check failed",
      "/zones": "1 with failed checks",
      [`/zones/${user.owner.zone}`]: deployed,
      [`/configurations/${configuration_id}`]: deployed,
      "/jobs": "Succeeded, 1 check failed",
      [`/jobs/${id}`]: "Succeeded, 1 check failed",
    };
    for (const [path, words] of Object.entries(pages))
      expect(texts(await user.page(path), ".badge.WARNING")).toContain(words);
    const inbox = await user.page("/");
    expect(words(inbox)).toContain("It is deployed, but 1 check failed after the last deployment.");
    expect(attributes(inbox, "a")).toContain(`/jobs/${id}`);
    await run("pass");
    for (const [path, words] of Object.entries(pages).filter(([one]) => !one.startsWith("/jobs")))
      expect(texts(await user.page(path), ".badge.WARNING")).not.toContain(words);
  });
});
