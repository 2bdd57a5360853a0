/** The lock that orders changes, and what makes a transaction run again. */

/** The key of the advisory lock of changes: arbitrary, and never changed. */
export const changesLock = 1_464_816_897;

/** Returns the SQLSTATE of a driver's error, or of the error that a `StorageError` wraps. */
const codeOf = (error: unknown): string => {
  const { cause = error } = error as Error;
  return (cause as { code?: string }).code ?? "";
};

/** A deadlock or a serialization failure. */
export const isConflict = (error: unknown): boolean => /^40(P01|001)$/.test(codeOf(error));

/** Two changes insert the same key. */
export const isDuplicate = (error: unknown): boolean => codeOf(error) === "23505";

/** A newer server has added columns since the statement was prepared. */
export const isOutdated = (error: unknown): boolean => codeOf(error) === "0A000";
