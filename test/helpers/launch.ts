/** Starts Chromium and opens pages in it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { Chromium } from "./chromium.ts";
import { newLink } from "./sign-in.ts";
import type { Plane } from "./plane.ts";

/** Starts Chromium without a window, with a temporary folder that is removed with it. */
export async function launch({ executablePath, env }: Chromium): Promise<Browser> {
  const scratch = mkdtempSync(join(tmpdir(), "chromium-"));
  const browser = await chromium.launch({
    executablePath,
    // Chromium's own sandbox needs rights that containers and root lack. It loads only our pages.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    env: { ...process.env, ...env, TMPDIR: scratch },
  });
  browser.once("disconnected", () => rmSync(scratch, { recursive: true, force: true }));
  return browser;
}

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
