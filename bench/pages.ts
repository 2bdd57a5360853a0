/**
 * The pages that people open most, in a real Chromium, with a thousand and with a million finished
 * jobs: the time until the first byte, and until the page is interactive (its scripts have run).
 *
 * The yardstick is the same page with a thousand jobs. The two servers take turns. Draws
 * docs/pages.svg.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type BrowserContext } from "playwright-core";
import { findChromium, startBrowserServer } from "../test/helpers/console/chromium.ts";
import { fillHistory, type History } from "./lib/history.ts";
import { drawPages, type PageTime } from "./lib/pages-plot.ts";
import { startWindlass } from "./lib/processes.ts";
import { signInBrowser } from "./lib/sign-in.ts";
import { median, printTable, type Figure } from "./lib/table.ts";

const rounds = 9;
/** The finished jobs of the two servers. */
const [fewest, most] = [1000, 1_000_000];
const pages = (history: History): Record<string, string> => ({
  overview: "/",
  job: `/jobs/${history.finishedJob}`,
  configuration: `/configurations/${history.configuration}`,
});

interface Opened {
  readonly firstByte: number;
  readonly interactive: number;
}

const found = await findChromium();
if (!found) throw new Error("Chromium was not found. Set CHROMIUM to its path.");
// Filling a store keeps this process busy, which no connection to a browser survives.
const [fewJobs, manyJobs] = [await startWith(fewest), await startWith(most)];
const browserServer = await startBrowserServer(found);
const browser = await chromium.connect(browserServer.wsEndpoint());
const [few, many] = [await signedIn(fewJobs), await signedIn(manyJobs)];
try {
  const figures: Figure[] = [];
  const drawn: PageTime[] = [];
  for (const name of Object.keys(pages(few.history))) {
    const times: { few: Opened; many: Opened }[] = [];
    for (let round = 0; round <= rounds; round += 1)
      times.push({ few: await open(few, name), many: await open(many, name) });
    // The first round fills caches.
    times.shift();
    const medians = (jobs: number, which: "few" | "many"): PageTime => {
      const of = (key: keyof Opened) => median(times.map((time) => time[which][key]));
      return { page: name, jobs, firstByte: of("firstByte"), interactive: of("interactive") };
    };
    const [ofFew, ofMany] = [medians(fewest, "few"), medians(most, "many")];
    drawn.push(ofFew, ofMany);
    for (const key of ["firstByte", "interactive"] as const)
      figures.push({
        row: "22",
        what: `${name}: ${key === "firstByte" ? "first byte" : "interactive"}`,
        value: median(times.map((time) => time.many[key] / time.few[key])),
        goal: 1.5,
        better: "smaller",
        more: `${ofMany[key].toFixed(0)} ms, ${ofFew[key].toFixed(0)} ms with 1,000`,
      });
  }
  printTable("pages in Chromium with 1,000,000 finished jobs / with 1,000", figures);
  const file = join(import.meta.dirname, "../docs/pages.svg");
  writeFileSync(file, drawPages(drawn));
  console.log(`\ndrawn: ${file}`);
} finally {
  await browser.close();
  await browserServer.close();
  await Promise.all([few.stop(), many.stop()]);
}

interface Filled {
  readonly url: string;
  readonly history: History;
  readonly cookie: string;
  stop(): Promise<void>;
}

interface Site extends Filled {
  readonly context: BrowserContext;
}

async function startWith(finished: number): Promise<Filled> {
  let history!: History;
  let cookie = "";
  const server = await startWindlass(async (directory) => {
    history = await fillHistory(directory, { finished, queued: 100 });
    cookie = (await signInBrowser(directory, history.owner))["cookie"]!;
  });
  return { url: server.url, history, cookie, stop: () => server.stop() };
}

async function signedIn(filled: Filled): Promise<Site> {
  const context = await browser.newContext();
  const [name, value] = filled.cookie.split("=") as [string, string];
  await context.addCookies([{ name, value, url: filled.url }]);
  return { ...filled, context };
}

/** Opens a page in a new tab, as a returning user: styles and scripts are cached. */
async function open({ url, history, context }: Site, name: string): Promise<Opened> {
  const page = await context.newPage();
  const address = url + pages(history)[name]!;
  const response = await page.goto(address, { waitUntil: "domcontentloaded" });
  if (response?.status() !== 200 || page.url() !== address)
    throw new Error(`${name} returned ${response?.status()} and led to ${page.url()}`);
  const [entry] = JSON.parse(
    await page.evaluate<string>(`JSON.stringify(performance.getEntriesByType("navigation"))`),
  ) as { requestStart: number; responseStart: number; domContentLoadedEventEnd: number }[];
  await page.close();
  return {
    firstByte: entry!.responseStart - entry!.requestStart,
    interactive: entry!.domContentLoadedEventEnd,
  };
}
