/** The names of blobs: 32 hex digits, kept as `<first two>/<the rest>`. */
import { randomBytes } from "node:crypto";

const pattern = /^[0-9a-f]{32}$/;

export const newName = (): string => randomBytes(16).toString("hex");

export const isName = (text: string): boolean => pattern.test(text);

/** Returns the directory and the file of a blob. Throws for anything else than a name. */
export function placeOf(blob: string): { folder: string; file: string } {
  if (!isName(blob)) throw new TypeError(`"${blob}" is not the name of a blob`);
  return { folder: blob.slice(0, 2), file: blob.slice(2) };
}
