/** Every page on wide and narrow screens: accessibility, and what does not fit. */
import { beforeAll, describe, expect, test } from "vitest";
import { findingsOf } from "../helpers/console/accessibility.ts";
import { withBrowser } from "../helpers/console/browser.ts";
import { pagesOf } from "../helpers/console/pages.ts";
import { addSamplePages } from "../helpers/console/sample-pages.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import {
  addSampleJobs,
  openSampleUser,
  sampleSettings,
  type SampleUser,
} from "../helpers/plane/sample-data.ts";

const { plane } = planeForFile(sampleSettings);
let fixture: SampleUser;
let pages: Record<string, string>;
beforeAll(async () => {
  fixture = await openSampleUser(plane, "ada@example.com");
  pages = pagesOf(
    fixture,
    await addSampleJobs(plane, fixture),
    await addSamplePages(plane, fixture),
  );
});

/** The tables that do not fit, of which a part is seen only after scrolling. */
const cutOff = `[...document.querySelectorAll(".scroll")]
  .filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => one.getAttribute("aria-label"))`;

/** Whether a cell of a table has another style than the others. */
const unpadded = `[...document.querySelectorAll("main td")]
  .some((cell) => getComputedStyle(cell).paddingLeft === "0px")`;

describe("every page", () => {
  const visitor = withBrowser();

  const limit = 15 * 60_000;
  test(
    "has no accessibility finding, and does not scroll sideways on a phone",
    { timeout: limit },
    async () => {
      const { page } = await visitor.visit(plane, fixture.email, { colorScheme: "light" });
      const findings: string[] = [];
      for (const [name, path] of Object.entries(pages)) {
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.goto(plane.url + path);
        findings.push(...(await findingsOf(page)).map((finding) => `${name}: ${finding}`));
        for (const label of await page.evaluate<string[]>(cutOff))
          findings.push(`${name}: the table "${label}" is cut off`);
        if (await page.evaluate<boolean>(unpadded)) findings.push(`${name}: a cell has no padding`);
        for (const width of [320, 390]) {
          await page.setViewportSize({ width, height: 800 });
          const needed = await page.evaluate<number>("document.documentElement.scrollWidth");
          if (needed > width) findings.push(`${name} is ${needed} wide, not ${width}`);
        }
        for (const label of await page.evaluate<string[]>(cutOff))
          findings.push(`${name}: the table "${label}" is cut off on a phone`);
      }
      expect(findings).toEqual([]);
    },
  );
});
