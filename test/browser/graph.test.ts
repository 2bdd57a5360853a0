/** The graph of resources as a canvas. */
import { beforeAll, describe, expect, test } from "vitest";
import { findingsOf } from "../helpers/console/accessibility.ts";
import { withBrowser } from "../helpers/console/browser.ts";
import { stateResource, writeState } from "../helpers/console/sample-pages.ts";
import { emptySummary } from "../helpers/plane/plan-summaries.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { openSampleUser, type SampleUser, sampleSettings } from "../helpers/plane/sample-data.ts";

const { plane } = planeForFile(sampleSettings);
let fixture: SampleUser;
let id: string;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
  id = await fixture.configure("network");
  await writeState(plane, fixture, id, [
    stateResource("aws_vpc.main"),
    stateResource("module.network.aws_subnet.private", ["aws_vpc.main"], 3),
    stateResource("aws_instance.web", ["module.network.aws_subnet.private"]),
  ]);
});

describe("the graph", () => {
  const visitor = withBrowser();
  /** Where a node is on the screen, and how wide the drawing is in its own pixels. */
  const place = `(() => {
    const { x, y } = document.querySelector('.node[data-node="aws_vpc.main"]').getBoundingClientRect();
    return { x, y, width: document.querySelector(".graph svg").viewBox.baseVal.width };
  })()`;
  interface Place {
    readonly x: number;
    readonly y: number;
    readonly width: number;
  }

  test("is moved, zoomed and fitted by mouse and keys", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/configurations/${id}/graph`);
    await page.locator(".graph.live").waitFor();
    const look = () => page.evaluate<Place>(place);
    const first = await look();
    await page.getByRole("button", { name: "Zoom in" }).click();
    expect((await look()).width).toBeLessThan(first.width);
    const stage = page.locator(".graph");
    await stage.focus();
    await page.keyboard.press("-");
    await page.keyboard.press("-");
    expect((await look()).width).toBeGreaterThan(first.width);
    await page.keyboard.press("0");
    const fitted = await look();
    await page.keyboard.press("ArrowRight");
    expect((await look()).x).toBeLessThan(fitted.x);
    const { x = 0, y = 0 } = (await stage.boundingBox()) ?? {};
    const before = await look();
    await page.mouse.move(x + 30, y + 30);
    await page.mouse.down();
    await page.mouse.move(x + 130, y + 80, { steps: 4 });
    await page.mouse.up();
    const after = await look();
    expect([after.x - before.x, after.y - before.y].map(Math.round)).toEqual([100, 50]);
    await page.mouse.wheel(0, 40);
    expect((await look()).y).toBeCloseTo(after.y - 40, 0);
    expect(complaints).toEqual([]);
  });

  test("finds resources, shows one beside it, and folds modules in place", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/configurations/${id}/graph`);
    await page.locator(".graph.live").waitFor();
    const panel = page.getByRole("complementary", { name: "Chosen resource" });
    await page.getByRole("searchbox", { name: "Search the graph" }).fill("subnet");
    await page.getByText("1 of 3").waitFor();
    await page.keyboard.press("Enter");
    await panel.getByText("3 instances").waitFor();
    expect(await findingsOf(page)).toEqual([]);
    // To a resource that it is connected with.
    await panel.getByRole("link", { name: "aws_instance.web" }).click();
    expect(await page.locator(".chosen").getAttribute("data-node")).toBe("aws_instance.web");
    // The address shows the same again.
    await page.reload();
    await panel.getByText("aws_instance.web").waitFor();
    await page.keyboard.press("Escape");
    expect(await panel.isVisible()).toBe(false);
    await page.locator("svg").getByLabel("Close module.network").click();
    await page.locator(".node.module").waitFor();
    expect(page.url()).toContain("flip=module.network");
    await page.keyboard.press("Enter");
    await page.locator(".node.module").waitFor({ state: "detached" });
    expect(await page.locator(".graph.live .node").count()).toBe(3);
    expect(complaints).toEqual([]);
  });

  test("shows how far an apply has come while it runs", async () => {
    await fixture.post(`/configurations/${id}/state/unlock`);
    const plan_summary = {
      ...emptySummary,
      counts: { ...emptySummary.counts, update: 3 },
      changes: [0, 1, 2].map((key) => ({
        address: `module.network.aws_subnet.private[${key}]`,
        action: "update" as const,
        attributes: [{ path: "cidr_block", before: "10.0.0.0/24", after: `10.0.${key}.0/24` }],
      })),
    };
    const plan = await fixture.run({ job_type: "PLAN", configuration_id: id }, "SUCCESS", {
      plan_summary,
    });
    const job = await fixture.begin({
      job_type: "DEPLOY",
      configuration_id: id,
      plan_job_id: plan,
    });
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/jobs/${job}/graph`);
    await page.locator(".graph.live").waitFor();
    await page.locator("svg").getByLabel("module.network.aws_subnet.private").click();
    await page.getByText("10.0.2.0/24").first().waitFor();
    const change = (key: number, event: "started" | "ended") => {
      const address = `module.network.aws_subnet.private[${key}]`;
      return fixture.resource(job, { address, action: "update", event }, key);
    };
    for (const key of [0, 1, 2]) await change(key, "started");
    await change(0, "ended");
    await page.locator('.node.running[data-node$="private"]').waitFor();
    await page.getByText("1 of 3 done, 2 in progress").waitFor();
    for (const key of [1, 2]) await change(key, "ended");
    await page.locator('.node.done[data-node$="private"]').waitFor();
    await page.getByLabel("module.network.aws_subnet.private: ~3, done").waitFor();
    expect(await findingsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await fixture.end(job, "SUCCESS");
  });

  test("without scripts is a picture whose nodes lead to their entries", async () => {
    const { page } = await visitor.visit(plane, fixture.email, { javaScriptEnabled: false });
    await page.goto(`${plane.url}/configurations/${id}/graph`);
    await page.locator("svg").getByLabel("aws_vpc.main").click();
    await page.getByText("is needed by").first().waitFor();
    expect(await page.getByRole("searchbox", { name: "Search the graph" }).count()).toBe(0);
  });
});
