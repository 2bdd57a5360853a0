/**
 * Allows one agent per work directory, by a kernel lock (flock(2)) on a file in it. Every process
 * that can open the file sees the lock, even from another PID namespace, such as a second container
 * on the same volume, and the kernel releases it when the holder ends, however it ends.
 *
 * Node has no flock(2). The program `flock` locks the open file that it inherits, and exits. The
 * lock belongs to the open file, so it stays with this process. Node opens files close-on-exec, so
 * a terraform that outlives the agent does not keep the lock.
 */
import { spawn } from "node:child_process";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readIfExists } from "../../common/files.ts";
import { identityOf, isAlive, type ProcessIdentity } from "./process-identity.ts";

/** Another process has the lock. */
export class LockHeldError extends Error {
  override readonly name = "LockHeldError";
}

/** The program `flock` is missing or fails. */
export class LockUnavailableError extends Error {
  override readonly name = "LockUnavailableError";
}

interface Holder extends ProcessIdentity {
  readonly host?: string;
}

/** Returns the function that unlocks. Throws `LockHeldError` or `LockUnavailableError`. */
export async function lockDirectory(directory: string): Promise<() => void> {
  const path = join(directory, "lock");
  const own = identityOf(process.pid);
  for (;;) {
    const file = openLockFile(path, directory);
    try {
      if (!(await isLockable(file))) throw heldBy(path, directory);
      // A holder that released the lock has removed the file. The lock must be on the file that has
      // the name now.
      if (isFileAt(file, path)) {
        // Agents of version 0.1 take no kernel lock; the file names the process.
        const holder = holderOf(directory);
        if (holder && !isSameProcess(holder, own)) throw heldBy(path, directory);
        ftruncateSync(file);
        writeSync(file, `${JSON.stringify({ ...own, host: hostname() })}\n`);
        return () => {
          if (isFileAt(file, path)) rmSync(path);
          closeSync(file);
        };
      }
    } catch (error) {
      closeSync(file);
      throw error;
    }
    closeSync(file);
  }
}

/** Returns the process that the lock file names, if it runs in this PID namespace. */
export function holderOf(directory: string): ProcessIdentity | undefined {
  const holder = parse(readIfExists(join(directory, "lock")));
  return holder && isAlive(holder) ? holder : undefined;
}

/** macOS has no `flock` program, but can lock a file while opening it (`O_EXLOCK`). */
const exclusiveLock = process.platform === "darwin" ? 0x20 | constants.O_NONBLOCK : 0;

function openLockFile(path: string, directory: string): number {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | exclusiveLock;
  try {
    return openSync(path, flags, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") throw heldBy(path, directory);
    throw error;
  }
}

/** Locks the open file; false if another open file has the lock. */
async function isLockable(file: number): Promise<boolean> {
  if (exclusiveLock) return true;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  // The short options are those that util-linux and BusyBox share.
  const child = spawn("flock", ["-x", "-n", "3"], { stdio: ["ignore", "ignore", "pipe", file] });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.once("error", (error: NodeJS.ErrnoException) => {
    const advice = error.code === "ENOENT" ? "it is not on the PATH: install util-linux" : error;
    reject(
      new LockUnavailableError(
        `the agent needs the program flock to lock its work directory: ${advice}`,
      ),
    );
  });
  child.once("close", (code) => {
    if (code === 0 || code === 1) resolve(code === 0);
    else reject(new LockUnavailableError(`flock ended with ${code}: ${said.trim()}`));
  });
  return promise;
}

const isFileAt = (file: number, path: string): boolean => {
  const [own, named] = [fstatSync(file), statSync(path, { throwIfNoEntry: false })];
  return named?.ino === own.ino && named.dev === own.dev;
};

const isSameProcess = ({ pid, start, boot }: ProcessIdentity, own?: ProcessIdentity): boolean =>
  isDeepStrictEqual({ pid, start, boot }, own);

function heldBy(path: string, directory: string): LockHeldError {
  const holder = parse(readIfExists(path));
  const who = holder ? ` (pid ${holder.pid} on ${holder.host ?? "this machine"})` : "";
  return new LockHeldError(
    `another agent${who} uses ${directory}. To run a second one, set another WINDLASS_WORK_DIR`,
  );
}

/** Returns undefined for a file that is incomplete or has an unknown form. */
function parse(text: string | undefined): Holder | undefined {
  try {
    const holder: unknown = JSON.parse(text ?? "");
    return typeof holder === "object" && holder !== null && "pid" in holder
      ? (holder as Holder)
      : undefined;
  } catch {
    return undefined;
  }
}
