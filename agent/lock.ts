/** One agent per work directory. The holder is known by pid, start time and boot, so a dead one's lock is taken over. */
import { linkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readIfExists } from "./files.ts";
import { identityOf, isAlive, type ProcessIdentity } from "./process-identity.ts";

/** Another agent works in the directory. */
export class LockHeld extends Error {
  override readonly name = "LockHeld";
}

/** Takes the lock; the answer releases it. Throws `LockHeld`. */
export async function lockWorkDir(workDir: string): Promise<() => void> {
  const path = join(workDir, "lock");
  const own = `${JSON.stringify(identityOf(process.pid))}\n`;
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, own, { mode: 0o600 });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    refuseIfAlive(path, workDir);
    renameSync(temporary, path);
    // Two that find the same dead holder both come here; the later rename wins and the other sees it.
    await sleep(takeOverPause);
    if (readIfExists(path) !== own) refuseIfAlive(path, workDir);
  } finally {
    rmSync(temporary, { force: true });
  }
  return () => {
    if (readIfExists(path) === own) rmSync(path, { force: true });
  };
}

const takeOverPause = 50;

/** The agent that works in the directory now; undefined when there is none. */
export function holderOf(workDir: string): ProcessIdentity | undefined {
  const holder = parse(readIfExists(join(workDir, "lock")));
  return holder && isAlive(holder) ? holder : undefined;
}

function refuseIfAlive(path: string, workDir: string): void {
  const holder = parse(readIfExists(path));
  if (!holder || !isAlive(holder)) return;
  throw new LockHeld(`another agent (pid ${holder.pid}) works in ${workDir}`);
}

/** Half-written or of no known form: its writer is dead. */
function parse(text: string | undefined): ProcessIdentity | undefined {
  try {
    const holder: unknown = JSON.parse(text ?? "");
    return typeof holder === "object" && holder !== null && "pid" in holder
      ? (holder as ProcessIdentity)
      : undefined;
  } catch {
    return undefined;
  }
}
