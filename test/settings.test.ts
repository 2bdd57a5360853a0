/** The page of settings against the code that reads them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./helpers/source-files.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");

test.each(["control-plane/config.ts", "agent/config.ts", "cli/config.ts"])(
  "Every setting that %s reads is on the page of settings",
  (path) => {
    const names = new Set(read(path).match(/\b(WINDLASS|CLI|RELEASE)_[A-Z_]*[A-Z]\b/g));
    expect(names.size).toBeGreaterThan(1);
    const page = read("docs/settings.md");
    const missing = [...names].filter(
      (name) => !page.includes(`\`${name.replace(/_FILE$/, "")}\``),
    );
    expect(missing).toEqual([]);
  },
);
