/**
 * By what `windlass up` recognises the directory of a configuration: git remote and path, because a
 * pipeline checks out anew; else an id in the directory.
 */
import { randomUUID } from "node:crypto";
import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { linkName, makeDirectory, readIfExists } from "../../common/files.ts";
import { CliError, say } from "../terminal/output.ts";

const linkOf = (directory: string): string => join(directory, ".windlass", linkName);
const originLimit = 2048;
const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the origins that stand for the directory. The first one is to be recorded. */
export async function readOrigins(directory: string): Promise<string[]> {
  return [await gitOrigin(directory), readLink(directory)].filter((one) => one !== undefined);
}

/** Or returns the id that another command has just written. Says so if it cannot be written. */
export function writeLink(directory: string): string | undefined {
  const origin = randomUUID();
  const path = linkOf(directory);
  try {
    makeDirectory(join(directory, ".windlass"));
    writeFileSync(path, `${JSON.stringify({ origin })}\n`, { flag: "wx" });
    return origin;
  } catch (error) {
    if (existsSync(path)) return readLink(directory);
    say(
      `${path} cannot be written (${(error as NodeJS.ErrnoException).code}). The next "windlass up" of this directory asks whether the configuration is its own.`,
    );
    return undefined;
  }
}

/** Whether a configuration with this origin was created from a directory with these. */
export const isFrom = (origins: readonly string[], origin: string | undefined): boolean =>
  origin !== undefined && origins.includes(origin);

/** Describes the directory with these origins to a user who is in it. */
export function hereText([origin]: readonly string[]): string {
  return origin === undefined || idForm.test(origin)
    ? "this directory"
    : `this directory (${origin})`;
}

/** Describes the origin of another directory to a user. */
export function originText(origin: string | undefined): string {
  if (origin === undefined) return "an unknown place";
  return idForm.test(origin) ? `another directory (.windlass/link.json: ${origin})` : origin;
}

function readLink(directory: string): string | undefined {
  const path = linkOf(directory);
  try {
    const text = readIfExists(path);
    if (text === undefined) return undefined;
    const { origin } = JSON.parse(text) as { origin?: unknown };
    if (typeof origin === "string" && idForm.test(origin)) return origin;
  } catch {
    // Falls through: whatever the reason, it has no id.
  }
  throw new CliError(`${path} cannot be read or is damaged. Remove it.`);
}

/** In a git hook these name another repository. */
const env = { GIT_DIR: undefined, GIT_WORK_TREE: undefined };

/** Returns undefined if the directory is in no git repository that has a remote "origin". */
async function gitOrigin(directory: string): Promise<string | undefined> {
  if (!existsSync(directory) || !isInCheckout(realpathSync(directory))) return undefined;
  // Loading it takes as long as the request that the caller makes meanwhile.
  const { execa } = await import("execa");
  const git = async (...words: string[]): Promise<string> => {
    // In a container a checkout often belongs to another user. These commands run nothing from it.
    const args = ["-C", directory, "-c", "safe.directory=*", ...words];
    return (await execa("git", args, { env, timeout: 10_000, maxBuffer: 65_536 })).stdout;
  };
  try {
    const [path, url] = await Promise.all([
      git("rev-parse", "--show-prefix"),
      git("config", "--get", "remote.origin.url"),
    ]);
    const remote = remoteText(url);
    if (remote === undefined) return undefined;
    const origin = path === "" ? remote : `${remote}//${encodeURI(path.replace(/\/$/, ""))}`;
    return origin.length > originLimit ? undefined : origin;
  } catch {
    return undefined;
  }
}

/** Without a `.git` here or above. Asking git by execa takes 8 % of a small `up` (bench/up.ts). */
function isInCheckout(directory: string): boolean {
  const parent = dirname(directory);
  return existsSync(join(directory, ".git")) || (parent !== directory && isInCheckout(parent));
}

/** Host and path, the same for https and ssh. A path on this machine is no origin. */
export function remoteText(remote: string): string | undefined {
  const [, host, path] = /^(?:[^@/]+@)?([^:/]{2,}):(?!\/\/)(.+)$/.exec(remote) ?? [];
  const address = host === undefined ? remote : `ssh://${host}/${path}`;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  const name = url.pathname
    .replace(/^\/+/, "")
    .replace(/\/+$/, "")
    .replace(/\.git$/, "");
  return url.host === "" || name === "" ? undefined : `${url.host.toLowerCase()}/${name}`;
}
