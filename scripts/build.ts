/** `npm run build [-- --out DIR]`: writes JavaScript and the files that it reads. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { out: { type: "string", default: join(root, "dist") } } });
const out = resolve(values.out);

/** Read at run time relative to `import.meta.dirname`, so they keep their paths. */
const assets = ["control-plane/**/*.{css,js,svg,html}", "samples/**/*", "systemd/*"];

if (existsSync(out) && !existsSync(join(out, "main.js")))
  throw new Error(`${out} is not an earlier build: remove it, or choose another directory`);
rmSync(out, { recursive: true, force: true });
// `npm run typecheck` checks types. Without that the build takes a tenth of the time.
execFileSync("tsc", ["-p", join(root, "tsconfig.build.json"), "--noCheck", "--outDir", out], {
  stdio: "inherit",
});
for (const file of globSync(assets, { cwd: root, exclude: ["**/node_modules", "**/.terraform"] })) {
  const target = join(out, file);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(root, file), target, { recursive: true });
}
