/** AES-256-GCM, with one key for each purpose derived from `WINDLASS_SECRET_KEY`. */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from "node:crypto";
import { seal, unseal } from "../../common/sealed-box.ts";

const version = 1;

/** The key that seals, then older ones, which still open what they sealed. */
export type SecretKeys = readonly [current: string, ...older: string[]];

/** The content was sealed with another key, was changed, or is incomplete. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
}

export interface SecretBox {
  /** Opening needs the same `about` (such as a row's id): a box cannot move to another row. */
  seal(content: Buffer, about: string): Buffer;
  /** Throws UnreadableError if the box was changed, moved, or made with another key. */
  open(box: Buffer, about: string): Buffer;
  /** A keyed hash in base64url, for tokens that are derived instead of stored. */
  sign(text: string): string;
  /** What `sign` returns now and what it returned under the older keys. */
  signatures(text: string): string[];
}

/** The box of one purpose; keys of different purposes are independent (RFC 5869). */
export function secretBox([current, ...older]: SecretKeys, purpose: string): SecretBox {
  const derive = (secretKey: string) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", secretKey, "windlass", purpose, 32)));
  const key = derive(current);
  const olderKeys = older.map(derive);
  return {
    seal: (content, about) => Buffer.concat([Buffer.of(version), seal(key, content, about)]),
    open: (box, about) => {
      let cause: unknown;
      for (const by of box[0] === version ? [key, ...olderKeys] : [])
        try {
          return unseal(by, box.subarray(1), about);
        } catch (error) {
          cause = error;
        }
      throw new UnreadableError("a stored secret cannot be decrypted", { cause });
    },
    sign: (text) => signWith(key, text),
    signatures: (text) => [key, ...olderKeys].map((by) => signWith(by, text)),
  };
}

const signWith = (key: KeyObject, text: string): string =>
  createHmac("sha256", key).update(text).digest("base64url");

/** Returns the box itself if the current key sealed it, or if none of the keys opens it. */
export function sealAgain(keys: SecretKeys, purpose: string, box: Buffer, about: string): Buffer {
  if (tryOpen(secretBox([keys[0]], purpose), box, about) !== undefined) return box;
  const withEachKey = secretBox(keys, purpose);
  const content = tryOpen(withEachKey, box, about);
  return content === undefined ? box : withEachKey.seal(content, about);
}

function tryOpen(by: SecretBox, box: Buffer, about: string): Buffer | undefined {
  try {
    return by.open(box, about);
  } catch {
    return undefined;
  }
}
