/** Every page: accessibility, narrow screens, no JavaScript, live updates. */
import { beforeAll, describe, expect, test } from "vitest";
import { findingsOf } from "../helpers/accessibility.ts";
import { lackOfBrowser, withBrowser } from "../helpers/browser.ts";
import { pagesOf } from "../helpers/pages.ts";
import { fillPlaces } from "../helpers/places.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";
import {
  addSampleJobs,
  openSampleUser,
  sampleSettings,
  type SampleUser,
} from "../helpers/sample-data.ts";
import { skipAt } from "../helpers/tools.ts";

const { plane } = planeForFile(sampleSettings);
let fixture: SampleUser;
let pages: Record<string, string>;
beforeAll(async () => {
  fixture = await openSampleUser(plane);
  pages = pagesOf(fixture, await addSampleJobs(plane, fixture), await fillPlaces(plane, fixture));
});

/** The tables that do not fit, of which a part is seen only after scrolling. */
const cutOff = `[...document.querySelectorAll(".scroll")]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => one.getAttribute("aria-label"))`;

/** Whether a cell of a table has another style than the others. */
const unpadded = `[...document.querySelectorAll("main td")]
  .some((cell) => getComputedStyle(cell).paddingLeft === "0px")`;

describe("every page", () => {
  skipAt(lackOfBrowser());
  const visitor = withBrowser();

  test("has no accessibility finding, and does not scroll sideways on a phone", async () => {
    const { page } = await visitor.visit(plane, fixture.email, { colorScheme: "light" });
    const findings: string[] = [];
    for (const [name, path] of Object.entries(pages)) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(plane.url + path);
      findings.push(...(await findingsOf(page)).map((finding) => `${name}: ${finding}`));
      for (const label of await page.evaluate<string[]>(cutOff))
        findings.push(`${name}: the table "${label}" is cut off`);
      if (await page.evaluate<boolean>(unpadded)) findings.push(`${name}: a cell has no padding`);
      await page.setViewportSize({ width: 390, height: 800 });
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      if (width > 390) findings.push(`${name} is ${width} wide`);
      for (const label of await page.evaluate<string[]>(cutOff))
        findings.push(`${name}: the table "${label}" is cut off on a phone`);
    }
    expect(findings).toEqual([]);
  });

  test("searches, filters and copies the changes of a plan", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.goto(plane.url + (pages["job-plan"] ?? ""));
    const plan = page.locator("windlass-plan");
    const shown = async (): Promise<string[]> =>
      (await plan.locator(".group li[data-action]:visible").allInnerTexts()).map(
        (text) => text.split("\n")[1] ?? "",
      );
    await expect.poll(shown).toHaveLength(6);
    // A value of an attribute is found too.
    await plan.getByRole("searchbox", { name: "Search the changes" }).fill("GP3");
    await plan.getByText("1 shown").waitFor();
    expect((await shown()).join()).toContain("aws_db_instance.main");
    await plan.getByRole("searchbox").fill("");
    await plan.getByLabel("Show").selectOption("created");
    await plan.getByText("2 shown").waitFor();
    await plan.getByRole("button", { name: "Copy as Markdown" }).click();
    await plan.getByText(/Copied|Selected/).waitFor();
    await plan.getByLabel("Show").selectOption("all changes");
    await expect.poll(shown).toHaveLength(6);
    const long = plan.locator(".long");
    expect(await long.locator("pre").isVisible()).toBe(false);
    await long.locator("summary").click();
    expect(await long.locator("pre").innerText()).toMatch(/^#!\/bin\/sh\necho/);
    expect(complaints).toEqual([]);
  });

  test("works without JavaScript", async () => {
    const { page } = await visitor.visit(plane, fixture.email, { javaScriptEnabled: false });
    await page.goto(plane.url + (pages["job-plan"] ?? ""));
    expect(await page.locator("pre.log").innerText()).toContain("2 to add, 1 to change");
    expect(await page.getByRole("button", { name: /Deploy this plan/ }).isVisible()).toBe(true);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Raw log" }).click();
    expect((await download).suggestedFilename()).toMatch(/^job-.*\.log$/);
  });

  test("updates while it is open and keeps the selection", async () => {
    const { page, complaints } = await visitor.visit(plane, fixture.email);
    await page.getByText("Another job of this configuration has not ended yet.").waitFor();
    const [running, waiting] = ["job-running", "job-waiting"].map(
      (name) => pages[name]?.split("/").at(-1) ?? "",
    );
    // Unchanged elements are kept, including a selection.
    await page.evaluate(
      `getSelection().selectAllChildren([...document.querySelectorAll("h2")].find((one) => one.textContent === "Waiting"))`,
    );
    await fixture.end(running ?? "", "SUCCESS");
    expect(await fixture.start()).toBe(waiting);
    await page.getByText("No job is waiting.").waitFor();
    expect(await page.evaluate<string>("getSelection().toString()")).toBe("Waiting");
    expect(await page.locator("time").first().getAttribute("title")).toMatch(/ UTC · ./);
    expect(await page.locator(`a[href="/jobs/${running}"]`).count()).toBe(1);
    expect(complaints).toEqual([]);
  });
});
