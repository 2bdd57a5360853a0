/** The names of blobs: 32 hex digits, kept as `<first two>/<the rest>`. */
import { randomBytes } from "node:crypto";

const pattern = /^[0-9a-f]{32}$/;

export const newName = (): string => randomBytes(16).toString("hex");

export const isName = (text: string): boolean => pattern.test(text);

/** Returns the path of a blob in its store. Throws if it is not a name. */
export function pathOf(blob: string): string {
  if (!isName(blob)) throw new TypeError(`"${blob}" is not the name of a blob`);
  return `${blob.slice(0, 2)}/${blob.slice(2)}`;
}
