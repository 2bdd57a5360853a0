/** Assumes a role at AWS STS with a token of the job: the agent needs no credentials of its own. */
import { isFinal, sessionOf, stsClient, type AssumeRole, type SdkError } from "./assume-role.ts";
import type { StsSettings } from "./assume-role.ts";
import { IdentityRefusedError } from "./identity-errors.ts";
import { claimsOf, trustAdvice } from "./identity-token.ts";

export interface WebIdentityRole {
  readonly arn: string;
  /** Names the session in the account's own records (CloudTrail). */
  readonly session: string;
}

/** Returns a function that asks for a token and assumes the role with it. */
export function webIdentityAssumer(
  role: WebIdentityRole,
  tokenOf: (signal: AbortSignal) => Promise<string>,
  settings: StsSettings,
): AssumeRole {
  let client: ReturnType<typeof stsClient> | undefined;
  return async (signal) => {
    const WebIdentityToken = await tokenOf(signal);
    client ??= stsClient(role.arn, settings, { credentials: none });
    const { AssumeRoleWithWebIdentityCommand } = await import("@aws-sdk/client-sts");
    const command = new AssumeRoleWithWebIdentityCommand({
      RoleArn: role.arn,
      RoleSessionName: role.session,
      WebIdentityToken,
    });
    const sts = await client;
    try {
      const { Credentials } = await sts.send(command, { abortSignal: signal });
      return sessionOf(Credentials, sts.config.systemClockOffset);
    } catch (error) {
      if (!isFinal(error as SdkError)) throw error;
      throw new IdentityRefusedError(refusal(role, WebIdentityToken, error as SdkError));
    }
  };
}

/** The call is not signed: what the agent's machine has must never count. */
const none = (): never => {
  throw new Error("this call uses no credentials of the machine");
};

function refusal({ arn }: WebIdentityRole, token: string, { name, message }: SdkError): string {
  const said = `${name}: ${message.replace(/\.?\s*$/, "")}`;
  return `AWS refused the token for the role ${arn} (${claimsOf(token)}): ${said}. ${adviceFor(name)}`;
}

function adviceFor(name: string): string {
  if (name.startsWith("InvalidIdentityToken"))
    return `Check that the account has an OIDC identity provider for this issuer with this audience, and that AWS can reach the issuer; ${trustAdvice}`;
  if (name.startsWith("ExpiredToken"))
    return "Check the clock of the control plane: its tokens are valid for ten minutes";
  return (
    "Check that the role exists, and that its trust policy allows sts:AssumeRoleWithWebIdentity to the identity provider of this issuer " +
    `with exactly this audience and this subject; ${trustAdvice}`
  );
}
