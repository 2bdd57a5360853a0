/** A real browser for tests: one per file, one fresh context per page, and every complaint of a page fails its test. */
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, beforeAll, inject } from "vitest";
import type { Chromium } from "./chromium.ts";
import { newLink } from "./sign-in.ts";
import type { Plane } from "./plane.ts";

/** Whether there is a browser here; in CI a test that did not run is a failure. */
export const hasBrowser = (): boolean => inject("chromium") !== null;

/** Starts it without a window. */
export const launch = ({ executablePath, env }: Chromium): Promise<Browser> =>
  chromium.launch({
    executablePath,
    // Its own sandbox needs rights that containers and root do not have; it sees our pages only.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    env: { ...process.env, ...env },
  });

export interface Visitor {
  /** A new page that is signed in as this person, in a context of its own. What the page complains of is collected. */
  visit(plane: Plane, email: string, options?: BrowserContextOptions): Promise<Visit>;
}

export interface Visit {
  readonly page: Page;
  /** Errors, refusals of the content security policy and requests to anywhere else. */
  readonly complaints: string[];
}

/** The browser of a test file. */
export function withBrowser(): Visitor {
  let browser: Browser | undefined;
  beforeAll(async () => {
    const found = inject("chromium");
    if (found) browser = await launch(found);
  });
  afterAll(() => browser?.close());
  return {
    visit: async (plane, email, options) => {
      if (!browser) throw new Error("no browser was started");
      return visit(browser, plane, email, options);
    },
  };
}

/** Opens a one-time link in a new context. */
export async function visit(
  browser: Browser,
  plane: Plane,
  email: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${plane.url}/`) && !url.startsWith("data:")) complaints.push(url);
  });
  await page.goto(plane.url + (await newLink(plane, email)));
  return { page, complaints };
}
