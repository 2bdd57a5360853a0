/** Starts the one browser that all files of a project share. */
import type { TestProject } from "vitest/node";
import { findChromium, startBrowserServer } from "../console/chromium.ts";

/** Runs before the first file; what it returns runs after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const found = await findChromium();
  const server = found ? await startBrowserServer(found) : undefined;
  project.provide("browser", server?.wsEndpoint() ?? null);
  return async () => server?.close();
}

declare module "vitest" {
  interface ProvidedContext {
    /** Where the browser listens; null where there is no Chromium. */
    browser: string | null;
  }
}
