/** Random tokens, their hashes, and comparison in constant time. */
import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** 256 random bits in base64url behind a prefix that secret scanners can find. */
export const newToken = (prefix: string): string =>
  `${prefix}_${randomBytes(32).toString("base64url")}`;

/** SHA-256 in hex: what is stored of a token. */
export const hashToken = (token: string): string => hash("sha256", token, "hex");

/** Whether two texts are equal, in constant time; their lengths may show. */
export function equalSecrets(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
