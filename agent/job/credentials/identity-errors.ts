/** Why there are no credentials: whether a later call can succeed, and whose failure it is. */

/** A later call would fail too. The message names the identity and says what to check. */
export class IdentityRefusedError extends Error {
  override readonly name = "IdentityRefusedError";
}

/** The control plane gives no token now. The job waits for it, as in every other step. */
export class ServerAwayError extends Error {
  override readonly name = "ServerAwayError";
}
