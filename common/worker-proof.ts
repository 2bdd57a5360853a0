/** The proof that a control plane knows a worker: computed there, and compared by the agent. */
import { createHmac } from "node:crypto";

/** The key is the SHA-256 of the worker's token in hex, or the worker's proof key. */
export const workerProof = (key: string, nonce: string): string =>
  createHmac("sha256", key).update(`windlass worker proof\n${nonce}`).digest("base64url");
