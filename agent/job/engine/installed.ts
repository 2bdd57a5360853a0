/** Finds engines on this machine: on the PATH, and in the agent's own cache. */
import {
  accessSync,
  constants,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { isAbsolute, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../../../protocol/configurations.ts";
import { readIfExists } from "../../../common/files.ts";
import { writeWhole } from "../../machine/files.ts";
import { ProgramError, runProgram } from "../../machine/programs.ts";
import {
  compareVersions,
  parseVersion,
  type Constraint,
  type Version,
} from "../../../common/version-constraint.ts";

export const programs: Readonly<Record<Engine, string>> = {
  terraform: "terraform",
  opentofu: "tofu",
};

export interface Installed {
  readonly path: string;
  readonly version: Version;
}

export interface EngineSearch {
  /** The first on the PATH that satisfies the constraint, else the newest in the cache. */
  readonly fitting: Installed | undefined;
  /** Versions that are installed and do not satisfy the constraint, for the message. */
  readonly others: readonly string[];
}

interface Place {
  readonly path: string;
  readonly cacheDirectory: string;
  /** Where it remembers versions; the cache if it is absent. */
  readonly memory?: string;
  readonly signal: AbortSignal;
}

/** Looks for the engine on the PATH, then in the cache. */
export async function findInstalled(
  engine: Engine,
  constraint: Constraint,
  { path, cacheDirectory, memory = cacheDirectory, signal }: Place,
): Promise<EngineSearch> {
  const others: string[] = [];
  for (const file of executables(programs[engine], path)) {
    const version = await knownVersion(file, path, memory, signal);
    if (version && constraint.admits(version)) return { fitting: { path: file, version }, others };
    others.push(version ? `${file} is ${version.text}` : `${file} does not run`);
  }
  const cached = cachedVersions(engine, cacheDirectory).filter(constraint.admits);
  const [newest] = cached.toSorted((a, b) => compareVersions(b, a));
  if (!newest) return { fitting: undefined, others };
  return { fitting: { path: cachedPath(engine, newest, cacheDirectory), version: newest }, others };
}

/** The path of a version in the cache. It gets there complete and verified, by a rename. */
export const cachedPath = (engine: Engine, { text }: Version, cacheDirectory: string): string =>
  join(cacheDirectory, programs[engine], text, programs[engine]);

/** Runs a binary to learn its version. Returns undefined if its output is not that of terraform. */
export async function askVersion(
  file: string,
  path: string,
  cwd: string,
  signal: AbortSignal,
): Promise<Version | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      // An empty directory as the working directory, and nothing of the agent's environment.
      const env = {
        PATH: path,
        HOME: cwd,
        CHECKPOINT_DISABLE: "1",
        TF_CLI_CONFIG_FILE: "/dev/null",
      };
      const stdout = await runProgram(file, ["version", "-json"], {
        cwd,
        env,
        signal,
        timeout: 30_000,
      });
      const { terraform_version: version } = JSON.parse(stdout) as { terraform_version?: unknown };
      return typeof version === "string" ? parseVersion(version) : undefined;
    } catch (error) {
      signal.throwIfAborted();
      // Another child process that was forked while the file was written may have it open for a
      // moment.
      if (!(error instanceof ProgramError && error.code === "ETXTBSY") || tries > 20)
        return undefined;
      await sleep(50, undefined, { signal });
    }
  }
}

/** A relative entry of the PATH would find what a job's source brings. */
function executables(program: string, path: string): string[] {
  const files = path
    .split(":")
    .filter(isAbsolute)
    .map((directory) => join(directory, program))
    .filter(isExecutable);
  return [...new Set(files)];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function cachedVersions(engine: Engine, cacheDirectory: string): Version[] {
  const directory = join(cacheDirectory, programs[engine]);
  try {
    return readdirSync(directory)
      .flatMap((name) => parseVersion(name) ?? [])
      .filter((version) => isExecutable(cachedPath(engine, version, cacheDirectory)));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

interface Known {
  readonly size: number;
  readonly mtime: number;
  readonly version: string;
}

/** Remembered by path, size and time, so that most jobs need not start the binary. */
async function knownVersion(
  file: string,
  path: string,
  directory: string,
  signal: AbortSignal,
): Promise<Version | undefined> {
  const real = realpathSync(file);
  const { size, mtimeMs: mtime } = statSync(real);
  const memory = join(directory, "versions.json");
  const before = readMemory(memory)[real];
  if (before?.size === size && before.mtime === mtime) return parseVersion(before.version);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const version = await askVersion(file, path, directory, signal);
  if (version && isBinary(real)) {
    const known: Known = { size, mtime, version: version.text };
    writeWhole(memory, JSON.stringify({ ...readMemory(memory), [real]: known }));
  }
  return version;
}

function readMemory(path: string): Record<string, Known> {
  try {
    return JSON.parse(readIfExists(path) ?? "{}") as Record<string, Known>;
  } catch {
    // This only saves time.
    return {};
  }
}

/** A version manager's script stays the same when another version is chosen. */
function isBinary(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const start = Buffer.alloc(2);
    return readSync(file, start, 0, 2, 0) === 2 && start.toString("latin1") !== "#!";
  } finally {
    closeSync(file);
  }
}
