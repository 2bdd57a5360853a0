/** Decides what a failed call means, by its type and status and never by its text. */
import { ProblemError, ResponseTooLargeError } from "../../protocol/transport.ts";
import { JobRefusedError } from "../job/job-refused-error.ts";

export type Failure =
  /** The call may succeed later, or in `after` seconds (`Retry-After`). */
  | { readonly kind: "retry"; readonly after: number }
  /** A wrong credential: repeated until it is certain that the identity is revoked. */
  | { readonly kind: "unauthorized" }
  /** Another try would fail too. */
  | { readonly kind: "give up" };

/** Sorts an error of a call by its type and status, never by its text. */
export function sortFailure(error: unknown): Failure {
  if (error instanceof ProblemError) {
    if (error.status === 401) return { kind: "unauthorized" };
    const isPassing = [408, 425, 429].includes(error.status) || error.status >= 500;
    return isPassing ? { kind: "retry", after: error.retryAfter ?? 0 } : { kind: "give up" };
  }
  if (error instanceof JobRefusedError || error instanceof ResponseTooLargeError)
    return { kind: "give up" };
  // Everything else is a network failure or an incomplete response. Undici reports a fault in our
  // own request by this code.
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "UND_ERR_INVALID_ARG" ? { kind: "give up" } : { kind: "retry", after: 0 };
}

/** Three 401 in a row over at least this time mean that the identity is revoked. */
export class Revocation {
  readonly #period: number;
  readonly #onRevoked: () => void;
  #first: number | undefined;
  #count = 0;
  #isRevoked = false;
  acceptedCalls = 0;

  constructor(periodSeconds: number, onRevoked: () => void) {
    this.#period = periodSeconds * 1000;
    this.#onRevoked = onRevoked;
  }

  /** Stays true: from then on, repeating a call that got 401 is of no use. */
  get isRevoked(): boolean {
    return this.#isRevoked;
  }

  accepted(): void {
    this.acceptedCalls++;
    this.#first = undefined;
    this.#count = 0;
  }

  refused(now = performance.now()): void {
    this.#first ??= now;
    this.#count++;
    if (this.#isRevoked || this.#count < 3 || now - this.#first < this.#period) return;
    this.#isRevoked = true;
    this.#onRevoked();
  }
}
