/** Why a shared database cannot be used at this moment. */

export type StorageTrouble =
  | "STORE_UNREACHABLE"
  | "STORE_BUSY"
  | "STORE_FULL"
  | "STORE_READONLY"
  | "STORE_REFUSES";

/** Nothing changed, unless a commit broke. Never has the address, which may hold a password. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: StorageTrouble;
  /** Whether a change may have been made: its commit was sent, and no response came. */
  readonly isUncertain: boolean;

  constructor(code: StorageTrouble, cause: Error, { isUncertain = false } = {}) {
    super(`${troubles[code]}: ${cause.message}`, { cause });
    this.code = code;
    this.isUncertain = isUncertain;
  }
}

const troubles: Readonly<Record<StorageTrouble, string>> = {
  STORE_UNREACHABLE: "the database cannot be reached",
  STORE_BUSY: "the database is busy",
  STORE_FULL: "the database's disk is full",
  STORE_READONLY: "the database is read-only",
  STORE_REFUSES: "the database refuses the connection",
};
