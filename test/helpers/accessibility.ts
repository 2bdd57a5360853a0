/** What axe finds wrong with a page. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "playwright-core";

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Its findings in both themes, everything that can be opened being open; for a page in the light theme. */
export async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  // No page has frames. Without looking for them, and for what is well, axe takes a third of the time.
  const audit = new AxeBuilder({ page }).options({ resultTypes: ["violations"] });
  const { violations } = await audit.setLegacyMode(true).analyze();
  await page.emulateMedia({ colorScheme: "dark" });
  // The themes differ in their colours alone; axe is in the page by now.
  const dark = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ["color-contrast"] })`,
  );
  await page.emulateMedia({ colorScheme: "light" });
  const inWords = (theme: string) => (violation: Violation) =>
    `${theme}: ${violation.id}: ${violation.nodes.map(({ html }) => html.slice(0, 150)).join(" ")}`;
  return [...violations.map(inWords("light")), ...dark.violations.map(inWords("dark"))];
}
