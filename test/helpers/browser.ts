/**
 * A real browser for tests: one per file, with a fresh context per page. A test fails if a page has
 * complaints.
 */
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, inject } from "vitest";
import { launch, openPage, visit, type Visit } from "./launch.ts";
import type { Plane } from "./plane.ts";

/** Returns why no browser can be started here; undefined where one can. */
export const lackOfBrowser = (): string | undefined =>
  inject("chromium") === null ? "there is no Chromium: name one in CHROMIUM" : undefined;

export interface Visitor {
  /**
   * Opens a new page, signed in as this user, in its own context. Complaints of the page are
   * collected.
   */
  visit(plane: Plane, email: string, options?: BrowserContextOptions): Promise<Visit>;
  /** Opens a new page without a login, which may call these servers. */
  open(...servers: readonly string[]): Promise<Visit>;
}

/** Starts the browser of a test file. */
export function withBrowser(): Visitor {
  let browser: Browser | undefined;
  beforeAll(async () => {
    const found = inject("chromium");
    if (found) browser = await launch(found);
  });
  afterAll(() => browser?.close());
  const started = (): Browser => {
    if (!browser) throw new Error("no browser was started");
    return browser;
  };
  return {
    visit: (plane, email, options) => visit(started(), plane, email, options),
    open: (...servers) => openPage(started(), servers),
  };
}
