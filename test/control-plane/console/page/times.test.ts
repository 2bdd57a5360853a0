import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectFiles, root } from "../../../helpers/project/source-files.ts";

test("a time follows no preposition, because a script may write `in 1 h` or `5 min ago`", () => {
  const pages = projectFiles().filter((path) => path.startsWith("control-plane/console/"));
  expect(pages.length).toBeGreaterThan(50);
  const wrong = pages.flatMap((path) =>
    Array.from(
      readFileSync(join(root, path), "utf8").matchAll(
        /\b(at|before|on|since|until)\s+\$\{(ago|clock)\(.*/gi,
      ),
      ([text]) => `${path}: ${text}`,
    ),
  );
  expect(wrong).toEqual([]);
});
