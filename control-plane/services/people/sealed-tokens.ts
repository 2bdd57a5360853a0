/** Seals tokens of sign-in providers for the columns of a row, which `about` names. */
import type { SecretBox, SecretKeys } from "../../domain/secret-box.ts";
import { sealAgain } from "../../domain/secret-box.ts";

export const sealToken = (box: SecretBox, about: string, token: string): string =>
  box.seal(Buffer.from(token), about).toString("base64url");

/** Undefined if no key opens it, as after a restore without its secret key. */
export function openToken(box: SecretBox, about: string, sealed: string): string | undefined {
  try {
    return box.open(Buffer.from(sealed, "base64url"), about).toString();
  } catch {
    return undefined;
  }
}

/** Seals it with the current key. Returns the same text if it is sealed so, or if no key opens it. */
export const sealTokenAgain = (
  keys: SecretKeys,
  purpose: string,
  about: string,
  sealed: string,
): string =>
  sealAgain(keys, purpose, Buffer.from(sealed, "base64url"), about).toString("base64url");
