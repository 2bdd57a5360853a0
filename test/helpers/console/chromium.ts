/**
 * The Chromium of tests and screenshots: `$CHROMIUM`, else the system's, else that of the dev
 * dependency.
 */
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { chromium, type BrowserServer } from "playwright-core";
import { extract } from "tar";
import { root } from "../project/source-files.ts";

/** A browser to start. */
export interface Chromium {
  readonly executablePath: string;
  /** Variables that it needs in addition to the environment. */
  readonly env: Record<string, string>;
}

const systems = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/**
 * Returns a Chromium. `CHROMIUM=package` selects that of the dev dependency. Returns null if there
 * is none and the package's does not run here (it is for x64 Linux).
 */
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

/**
 * Returns the package's Chromium, unpacked once per checkout and version beside the other packages.
 */
async function unpacked(): Promise<Chromium | null> {
  if (process.platform !== "linux" || process.arch !== "x64") return null;
  const folder = join(root, "node_modules/@sparticuz/chromium");
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    version: string;
  };
  const place = join(root, "node_modules/.cache", `chromium-${version}`);
  if (!existsSync(place)) await unpack(join(folder, "bin"), place);
  writeFontConfiguration(place);
  return {
    executablePath: join(place, "chromium"),
    env: {
      LD_LIBRARY_PATH: join(place, "lib"),
      FONTCONFIG_FILE: join(place, "windlass-fonts.conf"),
    },
  };
}

/**
 * Unpacks into a temporary directory and renames it, so that other runs see all of it or nothing.
 */
async function unpack(archives: string, place: string): Promise<void> {
  mkdirSync(dirname(place), { recursive: true });
  const draft = mkdtempSync(`${place}-`);
  const inflate = async (name: string, target: NodeJS.WritableStream): Promise<void> =>
    pipeline(createReadStream(join(archives, `${name}.br`)), createBrotliDecompress(), target);
  try {
    await Promise.all([
      inflate("chromium", createWriteStream(join(draft, "chromium"), { mode: 0o755 })),
      ...["fonts.tar", "swiftshader.tar", "al2023.tar"].map((name) =>
        inflate(name, extract({ cwd: draft })),
      ),
    ]);
    renameSync(draft, place);
  } catch (error) {
    // Another run may have been faster: a directory with files is not replaced.
    if (!existsSync(place)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Names the fonts of the package and of the system. The package's own file names directories
 * outside the checkout: without them text has no size and no element is visible. Written at each
 * start, because a checkout may have been moved.
 */
function writeFontConfiguration(place: string): void {
  const draft = join(place, `windlass-fonts-${process.pid}.conf`);
  writeFileSync(
    draft,
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${place}/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <dir>/usr/local/share/fonts</dir>
  <cachedir>${place}/fonts-cache</cachedir>
</fontconfig>
`,
  );
  renameSync(draft, join(place, "windlass-fonts.conf"));
}

/** Starts a browser without a window. The files in its temporary directory are removed with it. */
export async function startBrowserServer({
  executablePath,
  env,
}: Chromium): Promise<BrowserServer> {
  const scratch = mkdtempSync(join(tmpdir(), "chromium-"));
  const server = await chromium.launchServer({
    executablePath,
    // Its own sandbox needs rights that containers and root do not have; it sees our pages only.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    env: { ...process.env, ...env, TMPDIR: scratch },
  });
  server.once("close", () => rmSync(scratch, { recursive: true, force: true }));
  return server;
}
