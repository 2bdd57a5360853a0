/** A Chromium that is driven, and a person signed in with it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { Chromium } from "./chromium.ts";
import { newLink } from "./sign-in.ts";
import type { Plane } from "./plane.ts";

/** Starts it without a window. What it leaves in its temporary folder goes with it. */
export async function launch({ executablePath, env }: Chromium): Promise<Browser> {
  const scratch = mkdtempSync(join(tmpdir(), "chromium-"));
  const browser = await chromium.launch({
    executablePath,
    // Its own sandbox needs rights that containers and root do not have; it sees our pages only.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    env: { ...process.env, ...env, TMPDIR: scratch },
  });
  browser.once("disconnected", () => rmSync(scratch, { recursive: true, force: true }));
  return browser;
}

export interface Visit {
  readonly page: Page;
  /** Errors, refusals of the content security policy and requests to anywhere but the servers that it may ask. */
  readonly complaints: string[];
}

/** Opens a page in a new context, where it may ask these servers. */
export async function openPage(
  browser: Browser,
  servers: readonly string[],
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options);
  // A time limit only ends what hangs, however slow the machine is.
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
