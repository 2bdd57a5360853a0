/** Asks for tokens of the job, which the control plane signs and clouds and Vault accept. */
import type { JobContext } from "../context.ts";
import { JobRefusedError } from "../job-refused-error.ts";
import { conceal } from "../secrets.ts";
import { fieldOf } from "./cloud-identity.ts";
import type { Phase } from "./held-identity.ts";
import { IdentityRefusedError, ServerAwayError } from "./identity-errors.ts";
import type { IdentityToken } from "./listener-messages.ts";

/** Makes one call. Throws `IdentityRefusedError`, or another error if a later call may succeed. */
export async function identityToken(
  context: JobContext,
  phase: Phase,
  signal: AbortSignal,
): Promise<IdentityToken> {
  const audience = fieldOf(context, "audience");
  const { token, life } = await context.api
    .identityToken({ audience, phase }, signal)
    .catch((error: Error) => {
      if (signal.aborted) throw error;
      const text = `the control plane gives this job no token for the audience ${audience}: ${error.message}`;
      throw error instanceof JobRefusedError
        ? new IdentityRefusedError(text, { cause: error })
        : new ServerAwayError(text, { cause: error });
    });
  conceal(context, [token]);
  if (life <= 0) throw new Error("the control plane gave a token that has already expired");
  return { token, audience, life };
}

/** What its signed claims say, for messages: whose it is, for whom, and from where. */
export function claimsOf(token: string): string {
  const [, payload = ""] = token.split(".");
  try {
    const { iss, sub, aud } = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<
      string,
      unknown
    >;
    return `subject ${String(sub)}, audience ${String(aud)}, issuer ${String(iss)}`.slice(0, 1000);
  } catch {
    return "claims that are unreadable";
  }
}

/** How to let a cloud accept the token. */
export const trustAdvice = "windlass identities trust-policy NAME prints what it must trust";
