/**
 * `npm run screenshots`: writes every page in both themes, wide and narrow, to screenshots/, and the
 * four of the README to docs/media/. `-- zone jobs` selects pages by the start of their names.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { findChromium, startBrowserServer } from "../test/helpers/console/chromium.ts";
import { visit } from "../test/helpers/console/launch.ts";
import { addSamplePages } from "../test/helpers/console/sample-pages.ts";
import { startPlane } from "../test/helpers/plane/plane.ts";
import { pagesOf } from "../test/helpers/console/pages.ts";
import {
  addSampleJobs,
  openSampleUser,
  sampleSettings,
} from "../test/helpers/plane/sample-data.ts";
import { webpOf } from "./lib/webp.ts";

const target = join(import.meta.dirname, "../screenshots");
const media = join(import.meta.dirname, "../docs/media");
for (const place of [target, media]) mkdirSync(place, { recursive: true });
const clip = { x: 0, y: 0, width: 1280, height: 720 };
const ofReadme = new Set(["overview", "job-plan", "job-failed", "plan-graph"]);
const found = await findChromium();
if (!found) throw new Error("Chromium was not found. Set CHROMIUM to its path.");
const server = await startBrowserServer(found);
const browser = await chromium.connect(server.wsEndpoint());
const plane = await startPlane(sampleSettings);
const fixture = await openSampleUser(plane, "ada@example.com");
const wanted = process.argv.slice(2);
const all = Object.entries(
  pagesOf(fixture, await addSampleJobs(plane, fixture), await addSamplePages(plane, fixture)),
);
const pages = all.filter(
  ([name]) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
);
for (const colorScheme of ["light", "dark"] as const)
  for (const width of [1280, 390]) {
    const options = { colorScheme, viewport: { width, height: 900 } };
    const { page } = await visit(browser, plane, fixture.email, options);
    for (const [name, path] of pages) {
      await page.goto(plane.url + path);
      await page.waitForTimeout(300);
      if (width === 1280 && ofReadme.has(name)) {
        const [picture = ""] = await webpOf(browser, [await page.screenshot({ clip })]);
        const bytes = Buffer.from(picture.split(",")[1] ?? "", "base64");
        writeFileSync(join(media, `${name}-${colorScheme}.webp`), bytes);
      }
      await page.screenshot({
        path: join(target, `${name}-${colorScheme}-${width}.png`),
        fullPage: true,
      });
    }
    await page.context().close();
  }
await server.close();
await plane.close();
console.log(`${pages.length * 4} pictures in ${target}`);
