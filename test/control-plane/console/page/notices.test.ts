import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

test("a notice whose text begins on a new line of its template has the class flow", () => {
  // Without it, the line breaks and the indentation of the template are shown.
  const folder = join(import.meta.dirname, "../../../../control-plane/console");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const broken = files
    .filter((file) => file.endsWith(".ts"))
    .filter((file) =>
      /class="(notice|error|warning)">$/m.test(readFileSync(join(folder, file), "utf8")),
    );
  expect(broken).toEqual([]);
});
