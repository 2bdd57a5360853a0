/** Signing in and out in a real browser. */
import { AxeBuilder } from "@axe-core/playwright";
import { describe, expect, test } from "vitest";
import { lackOfBrowser, withBrowser } from "../helpers/browser.ts";
import { planeForFile } from "../helpers/plane-for-file.ts";
import { skipAt } from "../helpers/tools.ts";

const { plane } = planeForFile();

describe("in a browser", () => {
  skipAt(lackOfBrowser());
  const visitor = withBrowser();

  test("a one-time link opens the overview, and signing out opens the sign-in page", async () => {
    const { page, complaints } = await visitor.visit(plane, "ada@example.com");
    expect(new URL(page.url()).pathname).toBe("/");
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Overview");
    await page.getByRole("button", { name: "Sign out" }).click();
    expect(new URL(page.url()).pathname).toBe("/login");
    await page.goto(`${plane.url}/`);
    expect(new URL(page.url()).pathname).toBe("/login");
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
