/**
 * Who the user is at which server: one file with a profile per server, mode 0600, replaced whole, and changed under a lock. Two
 * commands that refreshed at once would present an old refresh token, which ends the login.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfExists } from "../../common/files.ts";
import { Failure } from "../terminal/output.ts";

export interface Profile {
  readonly server: string;
  readonly user_email: string;
  readonly access_token: string;
  readonly refresh_token: string;
  /** Of the access token, in milliseconds since 1970. */
  readonly expires_at: number;
}

export interface AuthFile {
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const empty: AuthFile = { current: null, profiles: {} };
const pathOf = (directory: string): string => join(directory, "auth.json");

/** The file as it is now; without one, nobody. Throws `Failure` when it is damaged. */
export function readAuth(directory: string): AuthFile {
  const path = pathOf(directory);
  let text: string | undefined;
  try {
    text = readIfExists(path);
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${(error as Error).message}`);
  }
  if (text === undefined) return empty;
  try {
    const { current = null, profiles = {} } = JSON.parse(text) as Partial<AuthFile>;
    if (Object.values(profiles).every(isProfile)) return { current, profiles };
  } catch {
    // Falls through: what is no JSON is as damaged as what lacks a field.
  }
  throw new Failure(`${path} is damaged: remove it and run windlass login`);
}

const isProfile = (value: Partial<Profile> | null): boolean =>
  typeof value?.server === "string" &&
  typeof value.access_token === "string" &&
  typeof value.refresh_token === "string";

/**
 * Changes the file while no other command does. `change` gets what is there now and may take its time (a refresh asks the server);
 * what it answers is written, and answered.
 */
export async function changeAuth(
  directory: string,
  change: (before: AuthFile) => AuthFile | Promise<AuthFile>,
): Promise<AuthFile> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
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

/** A holder that is older than this was killed: a change takes a request at most. */
const staleAfter = 30_000;
const patience = 45_000;

async function lock(path: string): Promise<() => void> {
  const deadline = performance.now() + patience;
  for (;;) {
    try {
      closeSync(openSync(path, "wx", 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (isStale(path)) {
      // Renamed first: of several that find it stale, one gets to remove it.
      const aside = `${path}.${process.pid}`;
      try {
        renameSync(path, aside);
        rmSync(aside, { force: true });
      } catch {
        // Another one was faster.
      }
    } else if (performance.now() > deadline) {
      throw new Failure(`another windlass command holds ${path}; remove it if there is none`);
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
