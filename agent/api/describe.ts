/** Describes a failed call of the control plane on one line, with what to do where that is known. */
import { ProblemError, RedirectError } from "../../protocol/transport.ts";

export function describe(error: unknown): string {
  if (error instanceof ProblemError) return `${error.status} ${error.code ?? ""} ${error.message}`;
  if (error instanceof RedirectError) return `${error.message}: ${redirectAdvice(error)}`;
  const { message, code } = error as NodeJS.ErrnoException;
  if (isUnknownAuthority(code)) return `${unknownAuthority}: ${authorityAdvice}`;
  return (message ?? String(error)) || String(code);
}

export const redirectAdvice = ({ server }: RedirectError): string =>
  server === undefined
    ? "check that WINDLASS_URL is the address of a Windlass control plane"
    : `set WINDLASS_URL to ${server}`;

/** Whether Node does not know the authority of a certificate. Its message advises its own option. */
export const isUnknownAuthority = (code: string | undefined): boolean =>
  authorityCodes.has(code ?? "");

const authorityCodes = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
]);

export const unknownAuthority = "its certificate is from an unknown authority";

export const authorityAdvice =
  "set SSL_CERT_FILE to a file with the authority's certificate (often /etc/ssl/certs/ca-certificates.crt)";
