/**
 * The size of what is installed: the build and the packages that it needs at run time, as the image
 * and a package have them.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { printTable } from "./lib/table.ts";

const root = join(import.meta.dirname, "..");

/** The bytes of a directory's files, without other packages inside. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.name !== "node_modules")
    .reduce((sum, entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return sum + bytesIn(path);
      return entry.isFile() ? sum + statSync(path).size : sum;
    }, 0);
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Record<string, { dev?: boolean; devOptional?: boolean }>;
};
const scratch = mkdtempSync(join(tmpdir(), "windlass-bench-"));
try {
  const out = join(scratch, "dist");
  await execa(process.execPath, [join(root, "scripts/build.ts"), "--out", out], {
    preferLocal: true,
    localDir: root,
  });
  const sizes = Object.entries(packages)
    .filter(([path, { dev }]) => path !== "" && dev !== true)
    .map(([path]) => join(root, path))
    .filter((path) => statSync(path, { throwIfNoEntry: false }))
    .map((path) => ({ path, bytes: bytesIn(path) }))
    .toSorted((a, b) => b.bytes - a.bytes);
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const largest = sizes
    .slice(0, 3)
    .map(({ path, bytes }) => `${path.split("node_modules/").at(-1)} ${megabytes(bytes)}`);
  printTable("Installed product", [
    {
      row: "25",
      what: "MB of the build, without its documents",
      value: (bytesIn(out) - bytesIn(join(out, "docs"))) / 1e6,
      goal: 5,
      better: "smaller",
    },
    {
      row: "25",
      what: "MB of packages at run time",
      value: all / 1e6,
      goal: 95,
      better: "smaller",
      more: `${sizes.length} packages; ${largest.join(", ")}`,
    },
  ]);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
