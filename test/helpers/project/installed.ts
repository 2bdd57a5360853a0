/** What the installation as a service writes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

/**
 * Returns the files that an installation below `root` said to have written and that the commands of
 * docs/operate.md for its removal do not name.
 */
export function leftBy(said: string, root: string): string[] {
  const written = [...said.matchAll(/^written: (.+)$/gm)].map(([, path = ""]) => path);
  expect(written.length).toBeGreaterThan(2);
  const [, removal = ""] = readFileSync(
    join(import.meta.dirname, "../../../docs/operate.md"),
    "utf8",
  ).split("## Remove a runner or a server\n");
  return written.filter((path) => !removal.includes(` ${path.slice(root.length)} `));
}
