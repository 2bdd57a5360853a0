/** A real browser for tests: one per file, one fresh context per page, and every complaint of a page fails its test. */
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, inject } from "vitest";
import { launch, visit, type Visit } from "./launch.ts";
import type { Plane } from "./plane.ts";

/** Whether there is a browser here; in CI a test that did not run is a failure. */
export const hasBrowser = (): boolean => inject("chromium") !== null;

export interface Visitor {
  /** A new page that is signed in as this person, in a context of its own. What the page complains of is collected. */
  visit(plane: Plane, email: string, options?: BrowserContextOptions): Promise<Visit>;
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
