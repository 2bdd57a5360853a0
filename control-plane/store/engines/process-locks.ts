/**
 * Locks of a process, on a file that nothing else uses. They are the kernel's (fcntl): they end with
 * the process, however it ends, and also work between containers that share a volume but not process
 * ids.
 */
import { existsSync } from "node:fs";
import Database from "better-sqlite3";

export type Release = () => void;

/**
 * Takes the lock on a file, which is created if need be; undefined while another process has it.
 *
 * The transaction stays open. With SQLite's exclusive mode, of two processes that try at the same
 * time each kept a shared lock while it waited for the other, and neither got the file.
 */
export function lockFile(file: string): Release | undefined {
  try {
    return openAlone(file, "begin exclusive");
  } catch (cause) {
    throw new Error(`${file} cannot be locked: ${(cause as Error).message}`, { cause });
  }
}

/** Whether another process has the lock. Takes the lock for a moment if it is free. */
export function isLocked(file: string): boolean {
  if (!existsSync(file)) return false;
  const release = lockFile(file);
  release?.();
  return release === undefined;
}

/** Takes a database for this process alone; undefined while another process has it open. */
export function lockDatabase(file: string): Release | undefined {
  try {
    // In WAL mode a transaction would leave the database open to readers.
    return openAlone(file, "pragma locking_mode = exclusive; begin exclusive; commit");
  } catch {
    // A damaged file is used by no process: it may be the reason for a restore.
    return () => undefined;
  }
}

/** How long to wait for a process that only checks whether the lock is free. */
const checkMilliseconds = 200;

function openAlone(file: string, lock: string): Release | undefined {
  const database = new Database(file, { timeout: checkMilliseconds });
  try {
    database.exec(lock);
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code?.startsWith("SQLITE_BUSY")) return undefined;
    throw error;
  }
}
