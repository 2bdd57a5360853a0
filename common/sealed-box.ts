/** AES-256-GCM: opens only with its key, and only whole. A box is nonce, tag and ciphertext. */
import { createCipheriv, createDecipheriv, randomBytes, type CipherKey } from "node:crypto";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

/** `about`, such as the id of a row, must be the same to open it: no box can be moved. */
export function seal(key: CipherKey, content: Buffer | string, about = ""): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(about));
  const text = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

/** Opens a box. Throws if it was changed, cut off, moved, or sealed with another key. */
export function unseal(key: CipherKey, box: Buffer, about = ""): Buffer {
  const nonce = box.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(about))
    .setAuthTag(box.subarray(nonceBytes, nonceBytes + tagBytes));
  const text = box.subarray(nonceBytes + tagBytes);
  return Buffer.concat([decipher.update(text), decipher.final()]);
}
