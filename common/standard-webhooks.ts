/** Signatures of the Standard Webhooks scheme (https://www.standardwebhooks.com). */
import { createHmac } from "node:crypto";

/** In base64. The key is a `whsec_` secret, or the bytes of any other text; `time` in Unix seconds. */
export function signatureOf(
  secret: string,
  {
    id,
    time,
    body,
  }: { readonly id: string; readonly time: string; readonly body: Buffer | string },
): string {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
  return createHmac("sha256", key).update(`${id}.${time}.`).update(body).digest("base64");
}
