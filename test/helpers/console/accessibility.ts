/** Runs axe on a page. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/**
 * Returns the findings of axe in both themes, with every `details` element opened. Expects the page
 * in the light theme.
 */
export async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  // Pages have no frames. Without frames and passed rules, axe takes a third of the time.
  const audit = new AxeBuilder({ page }).options({ resultTypes: ["violations"] });
  const { violations } = await audit.setLegacyMode(true).analyze();
  await page.emulateMedia({ colorScheme: "dark" });
  // The themes differ only in colours, and axe is loaded by now.
  const dark = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ["color-contrast"] })`,
  );
  await page.emulateMedia({ colorScheme: "light" });
  const inWords = (theme: string) => (violation: Violation) =>
    `${theme}: ${violation.id}: ${violation.nodes.map(({ html }) => html.slice(0, 150)).join(" ")}`;
  return [...violations.map(inWords("light")), ...dark.violations.map(inWords("dark"))];
}
