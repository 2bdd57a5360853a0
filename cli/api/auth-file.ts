/**
 * Changes `auth.json` under a lock and replaces it atomically, with mode 0600: one profile per
 * server. Without the lock, two commands could send one refresh token twice, which ends its login.
 */
import { closeSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeDirectory, readIfExists } from "../../common/files.ts";
import { fileErrorText } from "../../common/file-errors.ts";
import { CliError } from "../terminal/output.ts";

export interface Profile {
  readonly server: string;
  readonly user_email: string;
  readonly access_token: string;
  readonly refresh_token: string;
  /** Expiry of the access token, in milliseconds since 1970. */
  readonly expires_at: number;
  /** The slug of the team to act in; without it, the personal space. */
  readonly team?: string | undefined;
}

export interface AuthFile {
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const empty: AuthFile = { current: null, profiles: {} };
const pathOf = (directory: string): string => join(directory, "auth.json");

/** Reads the file; a missing file has no profiles. Throws `CliError` if it is damaged. */
export function readAuth(directory: string): AuthFile {
  const path = pathOf(directory);
  let text: string | undefined;
  try {
    text = readIfExists(path);
  } catch (error) {
    throw new CliError(`"${path}" cannot be read: ${fileErrorText(error)}`);
  }
  if (text === undefined) return empty;
  try {
    const { current = null, profiles = {} } = JSON.parse(text) as Partial<AuthFile>;
    if (Object.values(profiles).every(isProfile)) return { current, profiles };
  } catch {
    // Falls through: invalid JSON is reported like a missing field.
  }
  throw new CliError(`${path} is damaged. Remove it and run: windlass login`);
}

const isProfile = (value: Partial<Profile> | null): boolean =>
  typeof value?.server === "string" &&
  typeof value.access_token === "string" &&
  typeof value.refresh_token === "string";

/** Under the lock. `change` gets the content, may call the server, and returns the new content. */
export async function changeAuth(
  directory: string,
  change: (before: AuthFile) => AuthFile | Promise<AuthFile>,
): Promise<AuthFile> {
  makeDirectory(directory, 0o700);
  const path = pathOf(directory);
  const unlock = await lock(`${path}.lock`);
  try {
    const before = readAuth(directory);
    const after = await change(before);
    if (after !== before) {
      const temporary = `${path}.${process.pid}`;
      writeFileSync(temporary, `${JSON.stringify(after, null, 2)}\n`, { mode: 0o600 });
      renameSync(temporary, path);
    }
    return after;
  } finally {
    unlock();
  }
}

/** A lock file older than this (ms) belongs to a killed process: a change takes one request. */
const staleAfter = 30_000;
/** How long (ms) a command waits for the lock. */
const lockTimeout = 45_000;

async function lock(path: string): Promise<() => void> {
  const deadline = performance.now() + lockTimeout;
  for (;;) {
    try {
      closeSync(openSync(path, "wx", 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (isStale(path)) {
      // Rename first, so that only one of several waiting commands removes it.
      const aside = `${path}.${process.pid}`;
      try {
        renameSync(path, aside);
        rmSync(aside, { force: true });
      } catch {
        // Another command removed it first.
      }
    } else if (performance.now() > deadline) {
      throw new CliError(
        `Another windlass command holds ${path}. If none is running, remove that file.`,
      );
    } else await sleep(20 + Math.random() * 30);
  }
}

function isStale(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > staleAfter;
  } catch {
    return false;
  }
}
