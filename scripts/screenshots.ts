/** `npm run screenshots`: every page in both themes, wide and narrow, into screenshots/. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findChromium } from "../test/helpers/chromium.ts";
import { launch, visit } from "../test/helpers/launch.ts";
import { fillPlaces } from "../test/helpers/places.ts";
import { startPlane } from "../test/helpers/plane.ts";
import { pagesOf } from "../test/helpers/pages.ts";
import { fillStage, openStage } from "../test/helpers/scenes.ts";

const target = join(import.meta.dirname, "../screenshots");
mkdirSync(target, { recursive: true });
const found = await findChromium();
if (!found) throw new Error("there is no Chromium here: name one in CHROMIUM");
const browser = await launch(found);
const plane = await startPlane();
const stage = await openStage(plane, "ada@example.com");
const pages = pagesOf(await fillStage(stage), await fillPlaces(plane, stage));
for (const colorScheme of ["light", "dark"] as const)
  for (const width of [1280, 390]) {
    const options = { colorScheme, viewport: { width, height: 900 } };
    const { page } = await visit(browser, plane, stage.email, options);
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(plane.url + path);
      await page.waitForTimeout(300);
      await page.screenshot({
        path: join(target, `${name}-${colorScheme}-${width}.png`),
        fullPage: true,
      });
    }
    await page.context().close();
  }
await browser.close();
await plane.close();
console.log(`${Object.keys(pages).length * 4} pictures in ${target}`);
