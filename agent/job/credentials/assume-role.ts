/**
 * Assumes a role at AWS STS with the agent's credentials. The first job that needs it loads the
 * SDK.
 */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Credentials, STSClient, STSClientConfig } from "@aws-sdk/client-sts";
import { nodeProxies, type Network } from "../../../common/network.ts";
import { IdentityRefusedError } from "./identity-errors.ts";

export interface Role {
  readonly arn: string;
  /** The external id, which the role's trust policy requires. */
  readonly externalId: string | undefined;
  /** Names the session in the account's own records (CloudTrail). */
  readonly session: string;
  /** Session tags, which show in the account which job did what. Empty ones are left out. */
  readonly tags: Readonly<Record<string, string | null>>;
}

export interface StsSettings {
  /** `AWS_REGION` and the like. Without a region, also in files, the partition's default. */
  readonly aws: Readonly<Record<string, string>>;
  /** `HTTPS_PROXY` and related settings. */
  readonly network: Network;
}

export interface SessionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** For how many milliseconds from now the credentials are valid. */
  readonly life: number;
}

/** Makes one call. Throws `IdentityRefusedError`, or another error if a later call may succeed. */
export type AssumeRole = (signal: AbortSignal) => Promise<SessionCredentials>;

/** Returns a function that assumes the role, and can be called again and again. */
export function roleAssumer(role: Role, settings: StsSettings): AssumeRole {
  let prepared: ReturnType<typeof prepare> | undefined;
  return async (signal) => {
    prepared ??= prepare(role, settings);
    const { client, command } = await prepared;
    try {
      const { Credentials } = await client.send(command, { abortSignal: signal });
      return sessionOf(Credentials, client.config.systemClockOffset);
    } catch (error) {
      throw isFinal(error as SdkError)
        ? new IdentityRefusedError(refusal(role, error as SdkError))
        : error;
    }
  };
}

/** This machine's clock may be hours off. The SDK has learnt by how much from the response. */
export function sessionOf(found: Credentials | undefined, clockOffset: number): SessionCredentials {
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = found ?? {};
  if (!AccessKeyId || !SecretAccessKey || !SessionToken || !Expiration)
    throw new Error("the response has no credentials");
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    life: Expiration.getTime() - (Date.now() + clockOffset),
  };
}

async function prepare(role: Role, settings: StsSettings) {
  const { AssumeRoleCommand } = await import("@aws-sdk/client-sts");
  const command = new AssumeRoleCommand({
    RoleArn: role.arn,
    ExternalId: role.externalId,
    RoleSessionName: role.session,
    // Not transitive: otherwise every role that terraform assumes from this one would have to allow
    // tags too.
    Tags: Object.entries(role.tags).flatMap(([Key, Value]) => (Value ? [{ Key, Value }] : [])),
  });
  return { client: await stsClient(role.arn, settings), command };
}

/** For the region of the settings, or else the usual one of the role's partition. */
export async function stsClient(
  arn: string,
  { aws, network }: StsSettings,
  more: STSClientConfig = {},
): Promise<STSClient> {
  const { STSClient } = await import("@aws-sdk/client-sts");
  const proxyEnv = nodeProxies(network);
  const options = {
    ...more,
    // The caller retries, and can be stopped while it waits.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: 5000,
      requestTimeout: 15_000,
      throwOnRequestTimeout: true,
      httpAgent: new HttpAgent({ proxyEnv }),
      httpsAgent: new HttpsAgent({ proxyEnv }),
    },
  };
  const region = aws["AWS_REGION"] ?? aws["AWS_DEFAULT_REGION"];
  const usual = new STSClient({ ...options, ...(region ? { region } : {}) });
  return usual.config.region().then(
    () => usual,
    () => new STSClient({ ...options, region: usualRegion(arn) }),
  );
}

const usualRegion = (arn: string): string => {
  if (arn.startsWith("arn:aws-cn:")) return "cn-north-1";
  return arn.startsWith("arn:aws-us-gov:") ? "us-gov-west-1" : "us-east-1";
};

/** An error of the SDK: with metadata if AWS has responded. */
export interface SdkError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number; readonly clockSkewCorrected?: boolean };
}

/** AWS may not have reached the issuer of a token. */
const passing = /Throttl|TooManyRequests|RequestLimit|^IDPCommunicationError/;

export function isFinal({ name, $metadata }: SdkError): boolean {
  if (name === "CredentialsProviderError") return true;
  const { httpStatusCode: status, clockSkewCorrected } = $metadata ?? {};
  if (status === undefined || status >= 500 || status === 429 || status === 408) return false;
  // STS throttles with status 400. After the first response a wrong clock is known, and the next
  // call is right.
  return status >= 400 && !clockSkewCorrected && !passing.test(name);
}

function refusal(role: Role, { name, message }: SdkError): string {
  const which = `the role ${role.arn} with the external id ${role.externalId ?? "(none)"}`;
  if (name === "CredentialsProviderError") {
    return (
      `the agent has no AWS credentials of its own with which to assume ${which} (${message}). ` +
      "Give its machine an instance role, or the agent another source of credentials that AWS SDKs read"
    );
  }
  return `AWS refused ${which}: ${name}: ${message.replace(/\.?\s*$/, "")}. ${advice(name, message)}`;
}

function advice(name: string, message: string): string {
  if (message.includes("sts:TagSession")) {
    return "The agent tags its sessions: allow sts:TagSession in the role's trust policy and to the agent's own identity";
  }
  if (/^(InvalidClientTokenId|ExpiredToken|SignatureDoesNotMatch|IncompleteSignature)/.test(name)) {
    return "The agent's own AWS credentials are not valid: check them on its machine";
  }
  return (
    "Check that the role exists, that its trust policy names the agent's own identity and exactly this external id, and that both the " +
    "policy and the agent's own permissions allow sts:AssumeRole and sts:TagSession"
  );
}
