import { timingSafeEqual } from "node:crypto";

/** Compares in constant time; a difference of the lengths may show. */
export function equalSecrets(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
