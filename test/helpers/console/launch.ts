/** Opens pages in Chromium. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { newLink } from "../people/sign-in.ts";
import type { Plane } from "../plane/plane.ts";

export interface Visit {
  readonly page: Page;
  /**
   * Errors, violations of the content security policy, and requests to other servers than the
   * permitted ones.
   */
  readonly complaints: string[];
}

/** Opens a page in a new context that may call these servers. */
export async function openPage(
  browser: Browser,
  servers: readonly string[],
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options);
  // The time limit only ends a hanging test, however slow the machine is.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!servers.some((server) => url.startsWith(`${server}/`)) && !url.startsWith("data:"))
      complaints.push(url);
  });
  return { page, complaints };
}

/** Opens a one-time link in a new context. */
export async function visit(
  browser: Browser,
  plane: Plane,
  email: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const opened = await openPage(browser, [plane.url], options);
  await opened.page.goto(plane.url + (await newLink(plane, email)));
  return opened;
}

/** Chooses how the page shows its times, in the menu of the account. */
export async function chooseTimes(page: Page, kind: "ago" | "utc" | "local"): Promise<void> {
  await page.locator(".account summary").click();
  await page.locator("select[name=times]").selectOption(kind);
  await page.locator(".account summary").click();
}
