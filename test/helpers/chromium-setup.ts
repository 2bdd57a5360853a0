/** Finds the browser once for all files of the browser project. */
import type { TestProject } from "vitest/node";
import { findChromium, type Chromium } from "./chromium.ts";

/** Runs before the first file. */
export default async function setup(project: TestProject): Promise<void> {
  project.provide("chromium", await findChromium());
}

declare module "vitest" {
  interface ProvidedContext {
    chromium: Chromium | null;
  }
}
