/** Runs the files of bench/ one after another, because figures of concurrent ones mean nothing. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../bench");
const wanted = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".ts"))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .toSorted();

if (files.length === 0) {
  console.error(
    `There is no bench/*.ts${wanted.length > 0 ? ` named like ${wanted.join(", ")}` : ""}.`,
  );
  process.exit(2);
}

const failed = files.filter((name) => {
  console.log(`\n# ${name}\n`);
  return spawnSync(process.execPath, [join(folder, name)], { stdio: "inherit" }).status !== 0;
});
if (failed.length > 0) {
  console.error(`\nDid not finish: ${failed.join(", ")}`);
  process.exit(1);
}
