/** Keys, the command palette, and times as the reader wants them. */
import { beforeAll, describe, expect, test } from "vitest";
import { findingsOf } from "../helpers/console/accessibility.ts";
import { withBrowser } from "../helpers/console/browser.ts";
import { chooseTimes } from "../helpers/console/launch.ts";
import { openTeam } from "../helpers/people/teams.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { addSampleJobs, openSampleUser, sampleSettings } from "../helpers/plane/sample-data.ts";

const email = "ada@example.com";
/** Ends a test that hangs, however slow the machine is. */
const patient = { timeout: 60_000 };
const { plane } = planeForFile(sampleSettings);
let jobs: Record<string, string>;
beforeAll(async () => {
  jobs = await addSampleJobs(plane, await openSampleUser(plane, email));
});

describe("in a browser", () => {
  const visitor = withBrowser();

  test("keys lead to the pages of the team", async () => {
    const { slug, admin } = await openTeam(plane);
    const { page, complaints } = await visitor.visit(plane, admin.email);
    await page.goto(`${plane.url}/?team=${slug}`);
    for (const [key, path] of [
      ["j", "/jobs"],
      ["o", "/"],
    ] as const) {
      await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.waitForURL(`${plane.url}${path}?team=${slug}`);
    }
    expect(complaints).toEqual([]);
  });

  test("keys lead to pages, rows, the search and the list of keys, and can be switched off", async () => {
    const { page, complaints } = await visitor.visit(plane, email, { colorScheme: "light" });
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = () => page.evaluate<string>("document.activeElement.getAttribute('href')");
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    await press("g", "v");
    await page.waitForURL(`${plane.url}/variable-sets`);
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    await press("g", "t");
    await page.waitForURL(`${plane.url}/teams`);
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    await press("g", "j");
    await page.waitForURL(`${plane.url}/jobs`);
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    await press("j", "j", "j", "k");
    expect(await focused()).toBe(`/jobs/${jobs["running"]}`);
    await press("/");
    await page.keyboard.type("frontend");
    await press("Enter");
    await page.waitForURL(/\/search\?q=frontend$/);
    await page.getByRole("link", { name: "shop frontend" }).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    // In a field the keys are text.
    const search = page.getByRole("searchbox", { name: "Search everything" });
    await search.fill("");
    await search.pressSequentially("g?j");
    expect(await search.inputValue()).toBe("g?j");
    await search.blur();
    await press("?");
    const keys = page.getByRole("dialog", { name: "Keys" });
    await keys.getByText("Next row of a table").waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await keys.getByLabel("Single keys do this").uncheck();
    await press("Escape");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await press("?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("the palette finds pages, names and what the page offers, and changes nothing itself", async () => {
    const { page, complaints } = await visitor.visit(plane, email, { colorScheme: "light" });
    const palette = page.getByRole("dialog", { name: "Command palette" });
    const choose = async (text: string, name: string) => {
      await page.keyboard.press("Control+k");
      await palette.getByRole("combobox").fill(text);
      const option = palette.getByRole("option", { name, selected: true });
      await option.waitFor();
      expect(await findingsOf(page)).toEqual([]);
      await page.keyboard.press("Enter");
    };
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    await choose("frontend", "shop frontend");
    await page.getByRole("heading", { name: "shop frontend" }).waitFor();
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    const { url } = { url: page.url() };
    const offered = "Deploy without reviewing the plan…";
    await choose("without rev", offered);
    expect(page.url()).toBe(url);
    expect(await page.evaluate<string>("document.activeElement.textContent.trim()")).toBe(offered);
    await choose("audi", "Audit");
    await page.waitForURL(`${plane.url}/audit`);
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    await page.keyboard.press("Control+k");
    await palette.getByRole("combobox").fill("zzzz");
    await palette.getByText("Nothing found.").waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    expect(await palette.count()).toBe(0);
    await page.goto(`${plane.url}/jobs`);
    await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
    await page.keyboard.press("Control+k");
    await palette.getByRole("option", { name: "Overview" }).waitFor();
    expect(await palette.getByRole("option", { name: "Show" }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("the palette leads to the teams and to the other spaces of the reader", async () => {
    const { slug, admin } = await openTeam(plane);
    const { page, complaints } = await visitor.visit(plane, admin.email);
    const palette = page.getByRole("dialog", { name: "Command palette" });
    const choose = async (text: string, name: string) => {
      await page.locator("[name=keys]:not([hidden])").waitFor({ state: "attached" });
      await page.keyboard.press("Control+k");
      await palette.getByRole("combobox").fill(text);
      await palette.getByRole("option", { name, selected: true }).waitFor();
      await page.keyboard.press("Enter");
    };
    await page.goto(`${plane.url}/jobs`);
    await choose(slug, `${slug} Space`);
    await page.waitForURL(`${plane.url}/jobs?team=${slug}`);
    await choose("personal", "Personal Space");
    await page.waitForURL(`${plane.url}/jobs?team=`);
    await choose("teams", "Teams… Page");
    await page.waitForURL(`${plane.url}/teams`);
    expect(complaints).toEqual([]);
  });

  test("times say how long ago, or in the reader's zone on request, and remember it", async () => {
    const { page } = await visitor.visit(plane, email, { timezoneId: "Asia/Tokyo" });
    await page.goto(`${plane.url}/jobs`);
    const first = page.locator("[data-head=Created] time").first();
    await expect.poll(() => first.innerText(), patient).toMatch(/^\d+\s(s|min)\sago$/);
    const utc = (await first.getAttribute("datetime")) ?? "";
    expect(await first.getAttribute("title")).toContain(`${utc.slice(0, 10)} `);
    await chooseTimes(page, "local");
    expect(await first.innerText()).toMatch(/GMT\+9|JST/);
    await page.reload();
    await expect.poll(() => first.innerText(), patient).toMatch(/GMT\+9|JST/);
    await chooseTimes(page, "utc");
    expect(await first.innerText()).toMatch(/ UTC$/);
  });

  test("the times of a log, of ends and of strips are those of the reader's zone on request", async () => {
    const { page, complaints } = await visitor.visit(plane, email, { timezoneId: "Asia/Tokyo" });
    await page.goto(`${plane.url}/jobs/${jobs["running"]}`);
    const line = page.locator(".lines [data-time]").first();
    const hour = async () => Number((await line.getAttribute("data-time"))?.slice(0, 2));
    await line.waitFor();
    const utc = await hour();
    const switchOf = (zone: string) => page.getByLabel(`Times (${zone})`);
    await switchOf("UTC").waitFor();
    await chooseTimes(page, "local");
    await switchOf("your zone").waitFor();
    expect(await hour()).toBe((utc + 9) % 24);
    await page.reload();
    await switchOf("your zone").waitFor();
    await line.waitFor();
    expect(await hour()).toBe((utc + 9) % 24);

    await page.goto(`${plane.url}/jobs`);
    const end = page.locator("[data-head=Took] time").first();
    await expect
      .poll(() => end.getAttribute("title"), patient)
      .toMatch(/^ended [\d-]+ [\d:]+ UTC · .*(GMT\+9|JST)$/);
    expect(await end.innerText()).toMatch(/^[\d.]+\ss$/);
    await page.getByRole("link", { name: "network" }).first().click();
    await page.waitForURL("**/configurations/*");
    const run = page.locator(".run-chart title").first();
    await expect
      .poll(() => run.textContent(), patient)
      .toMatch(/@example\.com · [\d-]+ [\d:]+ UTC · [^·]*(GMT\+9|JST)$/);
    expect(complaints).toEqual([]);
  });
});
