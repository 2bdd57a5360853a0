/**
 * Distinguishes the control plane's responses from those of anything in between, such as a proxy's
 * page during maintenance: a 404 of a proxy must not end a job, and its 200 acknowledges nothing.
 */
import { problemCodes } from "../../protocol/problem-codes.ts";
import { ProblemError } from "../../protocol/transport.ts";
import { JobRefusedError } from "../job/job-refused-error.ts";
import { sortFailure, type Revocation } from "./failures.ts";
import type { KnownServer } from "./known-server.ts";

/** The control plane sends no such response. The same call may succeed later. */
class ForeignResponseError extends Error {
  override readonly name = "ForeignResponseError";

  constructor(status: number) {
    super(`a response with status ${status} is not the control plane's, but perhaps a proxy's`);
  }
}

/** Only a problem document with a known `code` refuses a call, once the server is known. */
export async function genuine<T>(
  known: Pick<KnownServer, "reportsTime">,
  response: Promise<T>,
): Promise<T> {
  try {
    return await response;
  } catch (error) {
    if (!known.reportsTime || !(error instanceof ProblemError)) throw error;
    if (sortFailure(error).kind === "retry" || isRefusal(error)) throw error;
    throw new ForeignResponseError(error.status);
  }
}

const isRefusal = ({ isDocument, code }: ProblemError): boolean =>
  isDocument && code !== undefined && Object.hasOwn(problemCodes, code);

/** Throws `ForeignResponseError` if the server is known and this is not what it responds. */
export function expectGenuine(known: Pick<KnownServer, "reportsTime">, isGenuine: boolean): void {
  if (known.reportsTime && !isGenuine) throw new ForeignResponseError(200);
}

/** Whether a response names this resource. */
export const names = (named: unknown, id: string): boolean =>
  typeof named === "string" && named.toLowerCase() === id.toLowerCase();

/** A proxy that refuses one call this often (five minutes at least) refuses it for good. */
const mostForeign = 20;

/** Turns the last of so many failures of a call into `JobRefusedError`; others stay unchanged. */
export function proxyPatience({ revocation }: { readonly revocation: Revocation }) {
  let before = revocation.acceptedCalls;
  let count = 0;
  return {
    failed(error: unknown): unknown {
      if (!(error instanceof ForeignResponseError)) return error;
      if (revocation.acceptedCalls > before) count++;
      before = revocation.acceptedCalls;
      return count < mostForeign ? error : new JobRefusedError("refused", error.message);
    },
    succeeded() {
      count = 0;
    },
  };
}
