/** The Chromium that tests and screenshots use: `$CHROMIUM`, else the system's, else the one of the dev dependency. */
import { existsSync, mkdirSync, mkdtempSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./source-files.ts";

/** A browser to start. */
export interface Chromium {
  readonly executablePath: string;
  /** What it needs besides the environment that there is. */
  readonly env: Record<string, string>;
}

const systems = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Finds one (`CHROMIUM=package`: the dev dependency's); null where there is none and the package's does not run (it is for x64 Linux). */
export async function findChromium(): Promise<Chromium | null> {
  const named = process.env["CHROMIUM"];
  if (named === "package") return unpacked();
  if (named !== undefined) return { executablePath: named, env: {} };
  const folders = (process.env["PATH"] ?? "").split(":");
  const found = folders
    .filter((folder) => !folder.includes("node_modules"))
    .flatMap((folder) => systems.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
  return found === undefined ? unpacked() : { executablePath: found, env: {} };
}

/** The package's, unpacked once beside the other packages. */
async function unpacked(): Promise<Chromium | null> {
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  const place = join(root, "node_modules/.cache/chromium");
  if (!existsSync(place)) await unpack(place);
  const libraries = join(place, "al2023/lib");
  return {
    executablePath: join(place, "chromium"),
    env: { LD_LIBRARY_PATH: libraries, FONTCONFIG_PATH: join(place, "fonts") },
  };
}

async function unpack(place: string): Promise<void> {
  mkdirSync(dirname(place), { recursive: true });
  const draft = mkdtempSync(`${place}-`);
  const before = { ...process.env };
  // It unpacks into the temporary folder, its libraries only where it believes to be in a Lambda, and says so in the environment.
  process.env["TMPDIR"] = draft;
  process.env["AWS_LAMBDA_JS_RUNTIME"] = "nodejs22.x";
  try {
    const { default: chromium } = await import("@sparticuz/chromium");
    await chromium.executablePath();
  } finally {
    for (const name of [
      "TMPDIR",
      "AWS_LAMBDA_JS_RUNTIME",
      "LD_LIBRARY_PATH",
      "FONTCONFIG_PATH",
      "HOME",
    ])
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
  }
  // Another run may have been faster; then ours stays unused.
  if (!existsSync(place)) renameSync(draft, place);
}
