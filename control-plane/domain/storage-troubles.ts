/** What keeps a disk, a database or an object store from working, in words for the operator. */
import { RefusalError } from "./refusal.ts";

/** An operator must resolve these. As 503, agents, clients and terraform try again. */
const troubles: readonly (readonly [codes: RegExp, trouble: string])[] = [
  [/^(ENOSPC|EDQUOT|SQLITE_FULL)$/, "the server's disk is full"],
  [/^SQLITE_(BUSY|LOCKED)/, "another program holds a lock on the server's database"],
  [/^(EROFS|SQLITE_READONLY.*)$/, "the server's disk is read-only"],
  [/^(EIO|SQLITE_IOERR.*|SQLITE_CANTOPEN.*)$/, "the server's disk reports errors"],
  [/^STORE_UNREACHABLE$/, "the server cannot reach its database"],
  [/^STORE_BUSY$/, "the server's database is busy"],
  [/^STORE_FULL$/, "the disk of the server's database is full"],
  [/^STORE_READONLY$/, "the server's database is read-only"],
  [/^STORE_REFUSES$/, "the server's database refuses its connections"],
  [/^(EMFILE|ENFILE)$/, "the server has no file descriptors left"],
];

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
};

/** Describes an error of the storage. Returns undefined for every other error. */
export function storageTrouble(error: unknown): string | undefined {
  if (error instanceof RefusalError)
    return error.code === "storage_unavailable" ? error.message : undefined;
  const code = codeOf(error);
  return troubles.find(([codes]) => codes.test(code))?.[1];
}

/** Whether an error leaves open if a change was made, such as a connection that broke at the commit. */
export const isUncertain = (error: unknown): boolean =>
  (error as { readonly isUncertain?: unknown } | null)?.isUncertain === true;

/** Whether the storage works, but has no room for another request at this moment. */
export const isStorageBusy = (error: unknown): boolean =>
  /^(STORE_BUSY|SQLITE_(BUSY|LOCKED).*|EMFILE|ENFILE)$/.test(codeOf(error));
