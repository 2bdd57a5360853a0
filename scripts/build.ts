/** `npm run build [-- --out DIR]`: what a package or an image holds, JavaScript and the files that the code reads beside itself. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { out: { type: "string", default: join(root, "dist") } } });
const out = resolve(values.out);

/** Read at run time by `import.meta.dirname`, so they keep their place in the tree. */
const assets = ["control-plane/**/*.{css,js,svg,html}", "samples/**/*", "systemd/*"];

if (existsSync(out) && !existsSync(join(out, "main.js")))
  throw new Error(`${out} is not an earlier build: remove it, or choose another folder`);
rmSync(out, { recursive: true, force: true });
// Types are checked by `npm run typecheck`; without them the build takes a tenth of the time.
execFileSync("tsc", ["-p", join(root, "tsconfig.build.json"), "--noCheck", "--outDir", out], {
  stdio: "inherit",
});
for (const file of globSync(assets, { cwd: root, exclude: ["**/node_modules", "**/.terraform"] })) {
  const target = join(out, file);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(root, file), target, { recursive: true });
}
