/** The pages: the changes of a plan, no JavaScript, live updates. */
import { beforeAll, describe, expect, test } from "vitest";
import { withBrowser } from "../helpers/console/browser.ts";
import { ask, clientHeaders } from "../helpers/plane/plane.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import {
  addSampleJobs,
  openSampleUser,
  sampleSettings,
  type SampleUser,
} from "../helpers/plane/sample-data.ts";

const { plane } = planeForFile(sampleSettings);
let fixture: SampleUser;
let jobs: Record<string, string>;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
  jobs = await addSampleJobs(plane, fixture);
});

interface Place {
  readonly height: number;
  readonly bottom: number;
}

describe("the pages", () => {
  const visitor = withBrowser();

  test("searches, filters and copies the changes of a plan", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/jobs/${jobs["plan"]}`);
    const plan = page.locator("windlass-plan");
    const shown = (): Promise<string[]> =>
      plan.locator("[data-action]:visible code[data-address]").allInnerTexts();
    await expect.poll(shown).toHaveLength(8);
    // A value of an attribute is found too.
    await plan.getByRole("searchbox", { name: "Search the changes" }).fill("GP3");
    await plan.getByText("1 shown").waitFor();
    expect((await shown()).join()).toContain("aws_db_instance.main");
    await plan.getByRole("searchbox").fill("");
    const created = plan.getByRole("button", { name: "3 to create" });
    await created.click();
    await plan.getByText("3 shown").waitFor();
    await plan.getByRole("button", { name: "Copy as Markdown" }).click();
    await plan.getByText(/Copied|Selected/).waitFor();
    await created.click();
    await expect.poll(shown).toHaveLength(8);
    // A module is folded with all that is in it.
    await plan.locator("summary", { hasText: "module.cluster" }).click();
    await expect.poll(shown).toHaveLength(6);
    await plan.getByRole("button", { name: "Unfold all" }).click();
    await expect.poll(shown).toHaveLength(8);
    // Blanks are part of a value.
    const spaces =
      "[...document.querySelectorAll('del, ins')].map((one) => getComputedStyle(one).whiteSpace)";
    expect(new Set(await page.evaluate<string[]>(spaces))).toEqual(new Set(["pre-wrap"]));
    const long = plan.locator(".long", { hasText: "#!/bin/sh" });
    expect(await long.locator("pre").isVisible()).toBe(false);
    await long.locator("summary").click();
    expect(await long.locator("pre").innerText()).toMatch(/^#!\/bin\/sh\necho/);
    expect(complaints).toEqual([]);
  });

  test("works without JavaScript", async () => {
    const { page } = await visitor.visit(plane, fixture.email, { javaScriptEnabled: false });
    await page.goto(`${plane.url}/jobs/${jobs["plan"]}`);
    expect(await page.locator("pre.log").innerText()).toContain("2 to add, 1 to change");
    expect(await page.getByRole("button", { name: /Deploy this plan/ }).isVisible()).toBe(true);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Raw log" }).click();
    expect((await download).suggestedFilename()).toMatch(/^job-.*\.log$/);
    // What only a script can do is not offered.
    await page.goto(`${plane.url}/zones/${fixture.owner.zone}/new`);
    await page.getByRole("radio", { name: "Archive" }).check();
    await page.getByLabel("SHA-256 of an uploaded archive").waitFor();
    expect(await page.locator("#archive").isVisible()).toBe(false);
    // A connection shows the fields of the chosen kind of host.
    await page.goto(`${plane.url}/connections/new`);
    const token = page.getByLabel("Token", { exact: true });
    await token.waitFor();
    expect(await page.getByLabel("Private key").isVisible()).toBe(false);
    await page.getByRole("radio", { name: "GitHub token" }).press("ArrowLeft");
    await page.getByText("An App that there is already").click();
    await page.getByLabel("Private key").waitFor();
    expect(await token.isVisible()).toBe(false);
  });

  test("show an entry of the audit log on few lines of a narrow screen, the rest when it is opened", async () => {
    const viewport = { width: 390, height: 800 };
    const { page } = await visitor.visit(plane, fixture.email, { viewport });
    await page.goto(`${plane.url}/audit`);
    const heights = await page.evaluate<number[]>(
      `[...document.querySelectorAll(".audit li")].map((row) => row.offsetHeight)`,
    );
    expect(heights.length).toBeGreaterThan(10);
    expect(Math.max(...heights)).toBeLessThan(110);
    const row = page.locator(".audit li").filter({ hasText: "job.end" }).first();
    const details = row.getByText("status_before: PROCESSING", { exact: true });
    expect(await details.isVisible()).toBe(false);
    await row.locator("summary").click();
    expect(await details.isVisible()).toBe(true);
    expect(await row.getByText("from 127.0.0.1", { exact: true }).isVisible()).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(viewport.width);
  });

  test("show the outputs that a plan changes below each other, also one of two lines", async () => {
    const viewport = { width: 390, height: 800 };
    const { page } = await visitor.visit(plane, fixture.email, { viewport });
    await page.goto(`${plane.url}/jobs/${jobs["plan"]}`);
    const outputs = page.getByRole("heading", { name: "Changes to outputs" }).locator("+ ul > li");
    const places = await outputs.evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector("code")!.getBoundingClientRect().left,
        row.getBoundingClientRect().height,
      ]),
    );
    const [first, ...others] = places.map(([left]) => left);
    expect(others).toEqual([first, first, first]);
    expect(new Set(places.map(([, height]) => height)).size).toBeGreaterThan(1);
  });

  test("show the lines of a value", async () => {
    const id = await fixture.configure("with a value of two lines");
    const body = { variables: { text: { value: "one\n    two" } } };
    await fixture.client.call("updateConfiguration", { params: { name: id }, body });
    const { page } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/configurations/${id}/variables`);
    expect(await page.locator(".entry .clamp").first().innerText()).toBe("one\n    two");
  });

  test("copy an output that came while the page was open, all of a long one", async () => {
    const id = await fixture.configure("with outputs");
    const { page, complaints } = await visitor.visit(plane, fixture.email, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await page.goto(`${plane.url}/configurations/${id}`);
    const value = { sizes: Array.from({ length: 100 }, (_, index) => index) };
    const outputs = { pools: { type: "object", value, sensitive: false } };
    const deploy = { job_type: "DEPLOY", configuration_id: id } as const;
    await fixture.run(deploy, "SUCCESS", { execution_metadata: { outputs } });
    await page.getByRole("button", { name: "Copy pools" }).click();
    await page.getByText("Copied.").waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(JSON.parse(copied)).toEqual(value);
    expect(complaints).toEqual([]);
  });

  test("break a long name on a narrow screen", async () => {
    const viewport = { width: 390, height: 800 };
    const name = "kubernetes_cluster_".repeat(5);
    const { page } = await visitor.visit(plane, fixture.email, { viewport });
    const { id: zone } = await fixture.client.call("createZone", { body: { name } });
    const body = {
      name,
      zone_id: zone,
      source: { type: "inline", files: { "main.tf": "" } },
    } as const;
    const { id } = await fixture.client.call("createConfiguration", { body });
    for (const path of [
      `/zones/${zone}`,
      `/zones/${zone}/new`,
      ...["", "/jobs", "/variables", "/state", "/settings"].map(
        (tab) => `/configurations/${id}${tab}`,
      ),
      `/configurations/${id}/edit`,
      `/search?q=${name}`,
    ]) {
      await page.goto(plane.url + path);
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect([path, width]).toEqual([path, viewport.width]);
    }
  });

  test("show the button of a form of one line as high as its field, and beside it", async () => {
    const { page } = await visitor.visit(plane, fixture.email, {
      viewport: { width: 1280, height: 800 },
    });
    await page.goto(`${plane.url}/variable-sets`);
    const [field, button] = await page.evaluate<[Place, Place]>(
      `[".form.row input", ".form.row button"].map((one) => document.querySelector(one).getBoundingClientRect().toJSON())`,
    );
    expect(Math.abs(field.height - button.height)).toBeLessThan(1);
    expect(Math.abs(field.bottom - button.bottom)).toBeLessThan(1);
    await page.goto(`${plane.url}/settings`);
    const heights = await page.evaluate<number[]>(
      `[...document.querySelectorAll(".field :is(select, input)")].map((one) => one.offsetHeight)`,
    );
    expect(new Set(heights)).toEqual(new Set([36]));
  });

  test("show the whole name of a resource beside its bar where there is room", async () => {
    const { page } = await visitor.visit(plane, fixture.email, {
      viewport: { width: 1280, height: 800 },
    });
    await page.goto(`${plane.url}/jobs/${jobs["failed"]}#resources`);
    const name = page.locator(".bars a").first();
    await page.locator(".bars").waitFor();
    await page.evaluate(
      `[...document.querySelectorAll(".bars bdi")].forEach((one) => (one.textContent = "terraform_data.machine[7]"))`,
    );
    expect(await name.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)).toBe(
      true,
    );
  });

  test("show the step of a running job on one line, however long its log's last line is", async () => {
    const id = await fixture.begin({
      job_type: "PLAN",
      configuration_id: await fixture.configure("wordy"),
    });
    await fixture.step(id, "apply", "started", 0);
    await fixture.log(id, `${"a long line of the log ".repeat(30)}\n`);
    const { page } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/`);
    await page.locator(".progress", { hasText: "a long line" }).waitFor();
    const heights = await page.evaluate<number[]>(
      `[".progress", ".progress strong"].map((one) => document.querySelector(one).getBoundingClientRect().height)`,
    );
    expect(Math.max(...heights)).toBeLessThan(30);
    await fixture.end(id, "SUCCESS");
  });

  test("keep the menu at the side, and on a phone behind a button, also with a long address", async () => {
    const email = `a-person-with-a-long-name@${"department-".repeat(3)}example.com`;
    const { page } = await visitor.visit(plane, email, { viewport: { width: 1280, height: 800 } });
    for (const path of ["/", "/variable-sets"]) {
      await page.goto(plane.url + path);
      const lefts = await page.evaluate<number[]>(
        `[...document.querySelectorAll(".frame nav a")].map((link) => link.offsetLeft)`,
      );
      expect(new Set(lefts).size).toBe(1);
      expect(await page.locator(".who").isVisible()).toBe(true);
      expect(await page.locator(".who").evaluate((who) => who.clientHeight)).toBeLessThan(30);
    }
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.locator(".frame").evaluate((frame) => frame.clientHeight)).toBeLessThan(60);
    expect(await page.locator(".who").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Menu" }).click();
    expect(await page.locator(".who").isVisible()).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  });

  test("updates while it is open and keeps the selection", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.getByText("Another job of this configuration is still running.").waitFor();
    const { running, waiting } = jobs;
    // Unchanged elements are kept, including a selection.
    await page.evaluate(
      `getSelection().selectAllChildren([...document.querySelectorAll("h2")].find((one) => one.textContent === "Running"))`,
    );
    await fixture.end(running ?? "", "SUCCESS");
    expect(await fixture.start()).toBe(waiting);
    await page.getByText("none is waiting").waitFor();
    expect(await page.evaluate<string>("getSelection().toString()")).toBe("Running");
    expect(await page.locator("time").first().getAttribute("title")).toMatch(/ UTC · ./);
    expect(await page.locator(`a[href="/jobs/${running}"]`).count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  test("say that what they show was deleted", async () => {
    const id = await fixture.configure("short-lived");
    const { page } = await visitor.visit(plane, fixture.email);
    await page.goto(`${plane.url}/configurations/${id}`);
    const headers = await clientHeaders(plane, fixture.owner);
    await ask(plane, "DELETE", `/api/cli/configurations/${id}`, { headers });
    await page.evaluate(`document.dispatchEvent(new Event("progress"))`);
    await page.getByText("This was deleted or moved, or you may no longer see it.").waitFor();
  });
});
