/**
 * A real browser for tests: one for all files, with a new context for each page. A test fails if a
 * page has complaints.
 */
import { chromium, type Browser, type BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, inject } from "vitest";
import { openPage, visit, type Visit } from "./launch.ts";
import { skipAt } from "../project/tools.ts";
import type { Plane } from "../plane/plane.ts";

export interface Visitor {
  /**
   * Opens a new page, signed in as this user, in its own context. Complaints of the page are
   * collected.
   */
  visit(plane: Plane, email: string, options?: BrowserContextOptions): Promise<Visit>;
  /** Opens a new page without a login, which may call these servers. */
  open(...servers: readonly string[]): Promise<Visit>;
}

/** Starts the browser of a test file. Skips the tests here if there is none. */
export function withBrowser(): Visitor {
  skipAt(inject("browser") === null ? "there is no Chromium: name one in CHROMIUM" : undefined);
  let browser: Browser | undefined;
  beforeAll(async () => {
    const address = inject("browser");
    if (address !== null) browser = await chromium.connect(address);
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
