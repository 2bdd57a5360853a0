/** Encryption at rest: AES-256-GCM under a key derived from `WINDLASS_SECRET_KEY` for one purpose each. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from "node:crypto";

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;

export interface SecretBox {
  /** Version byte, nonce, tag and ciphertext. `about` (such as a row's id) must be the same to open it: a box cannot be moved. */
  seal(content: Buffer, about: string): Buffer;
  /** Throws if the box was changed, moved, or made with another key. */
  open(box: Buffer, about: string): Buffer;
  /** A keyed hash in base64url, for tokens that are derived instead of stored. */
  sign(text: string): string;
}

/** The box of one purpose; keys of different purposes are independent (RFC 5869). */
export function secretBox(secretKey: string, purpose: string): SecretBox {
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", secretKey, "windlass", purpose, 32)));
  return {
    seal: (content, about) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(about));
      const text = Buffer.concat([cipher.update(content), cipher.final()]);
      return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), text]);
    },
    open: (box, about) => {
      if (box[0] !== version) throw new Error("the sealed value has an unknown version");
      const nonce = box.subarray(1, 1 + nonceBytes);
      const tag = box.subarray(1 + nonceBytes, 1 + nonceBytes + tagBytes);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
        .setAAD(Buffer.from(about))
        .setAuthTag(tag);
      const text = box.subarray(1 + nonceBytes + tagBytes);
      return Buffer.concat([decipher.update(text), decipher.final()]);
    },
    sign: (text) => createHmac("sha256", key).update(text).digest("base64url"),
  };
}
