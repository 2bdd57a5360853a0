/** Jobs with a cloud identity that gets tokens, claimed by a runner, and their tokens. */
import { createLocalJWKSet, jwtVerify, type JWTPayload } from "jose";
import { features } from "../../../protocol/features.ts";
import type { CreateCloudIdentity } from "../../../protocol/cloud-identities.ts";
import type { CreateJob } from "../../../protocol/jobs.ts";
import type { TokenPhase } from "../../../protocol/identity-tokens.ts";
import type { Calls } from "./calls.ts";
import { ask, type Plane } from "./plane.ts";

const roleOf = (name: string) => `arn:aws:iam::123456789012:role/${name}`;
export const webIdentity = {
  name: "live",
  provider: "aws_web_identity",
  role_arn: roleOf("apply"),
  plan_role_arn: roleOf("plan"),
} as const satisfies CreateCloudIdentity;
export const awsAudience = "sts.amazonaws.com";

/** Creates an identity and a configuration with it; `runner` reports that it knows all kinds. */
export async function configureWith(
  client: Calls,
  runner: Calls,
  zone_id: string,
  identity: CreateCloudIdentity = webIdentity,
  more: { readonly name?: string; readonly approval?: { readonly when: "always" } } = {},
) {
  await runner.call("heartbeat", { body: { version: "1.0.0", features: [...features] } });
  const { id } = await client.call("createCloudIdentity", { body: identity });
  const configuration = await client.call("createConfiguration", {
    body: {
      name: "network",
      zone_id,
      cloud_identity_id: id,
      source: { type: "inline", files: { "main.tf": "" } },
      ...more,
    },
  });
  return { identity: id, configuration: configuration.id };
}

export type Claimed = Awaited<ReturnType<typeof claimNew>>;

/** Queues a job and claims it. */
export async function claimNew(client: Calls, runner: Calls, body: CreateJob) {
  const queued = await client.call("createJob", { body });
  const claimed = await runner.call("claimJob", { query: {} });
  if (claimed?.job.id !== queued.id) throw new Error("the runner got another job");
  return claimed;
}

export const attemptOf = ({ job }: Claimed) => ({ "x-job-attempt": String(job.attempt) });

export const start = (runner: Calls, { job }: Pick<Claimed, "job">) =>
  runner.call("reportStatus", { params: { id: job.id }, body: { status: "PROCESSING" } });

export const tokenFor = (
  runner: Calls,
  { job }: Pick<Claimed, "job">,
  phase: TokenPhase,
  audience: string = awsAudience,
) => runner.call("createIdentityToken", { params: { id: job.id }, body: { audience, phase } });

/** Checks a token by what the issuer publishes. Returns its claims. */
export async function verify(
  plane: Plane,
  token: string,
  audience: string = awsAudience,
): Promise<JWTPayload & { readonly kid: string | undefined }> {
  const issuer = (await ask(plane, "GET", "/.well-known/openid-configuration")).json();
  const keys = await ask(plane, "GET", "/.well-known/jwks.json");
  const { payload, protectedHeader } = await jwtVerify(
    token,
    createLocalJWKSet(JSON.parse(keys.text) as Parameters<typeof createLocalJWKSet>[0]),
    { issuer: String(issuer["issuer"]), audience, algorithms: ["RS256"] },
  );
  return { ...payload, kid: protectedHeader.kid };
}
