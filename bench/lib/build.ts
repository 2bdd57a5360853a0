/** A build as it is installed: bin/windlass, the bundle and the packages. */
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";

const root = join(import.meta.dirname, "../..");

/** Builds Windlass in a directory, with a compile cache of its own. Returns the path of its program. */
export async function buildWindlass(directory: string): Promise<string> {
  const place = join(directory, "installed");
  mkdirSync(place);
  await execa(process.execPath, [join(root, "scripts/build.ts"), "--out", join(place, "dist")]);
  for (const name of ["bin", "package.json"])
    cpSync(join(root, name), join(place, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
  process.env["NODE_COMPILE_CACHE"] = join(directory, "compile-cache");
  return join(place, "bin/windlass");
}
