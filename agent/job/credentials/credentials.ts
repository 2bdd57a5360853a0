/** Gives a job's terraform its cloud credentials. */
import { randomBytes } from "node:crypto";
import { roleAssumer } from "./assume-role.ts";
import { cloudProviders, type CloudProvider } from "./cloud-providers.ts";
import { JobStopped, StepFailed, type JobContext, type Step } from "../context.ts";
import { endpointEnvironment, openEndpoint, reopenEndpoint } from "./endpoint.ts";
import type { StopReason } from "../journal.ts";
import { RoleSession } from "./role-session.ts";
import { conceal } from "../secrets.ts";

/** For how many milliseconds temporary failures are retried before the job fails. */
const patience = 120_000;

/**
 * Assumes the role of the job's cloud identity before terraform starts, so that a wrong role fails
 * here with a clear message. The credentials stay in this process; terraform reads them from an
 * endpoint on loopback, again and again.
 */
export const obtainCredentials: Step = {
  name: "credentials",
  async run(context) {
    const { claim, stop, log, over } = context;
    const provider = providerOf(context);
    if (provider === undefined) return {};
    if (provider !== "aws") {
      log.system(`Cloud identity: this machine's own identity at ${provider}`);
      return {};
    }
    const session = openSession(context);
    try {
      await session.begin(stop, patience);
    } catch (error) {
      if (stop.aborted) throw new JobStopped(stop.reason as StopReason);
      throw new StepFailed(`credentials: ${(error as Error).message}`);
    }
    void session.keep();
    log.system(`Cloud identity: ${claim.cloud_identity?.role_arn}, session ${claim.job.id}`);
    const token = randomBytes(32).toString("base64url");
    conceal(context, [token]);
    return { credentials: { port: await openEndpoint(session, token, over), token } };
  },
  resume(context, { credentials }) {
    if (!credentials) return;
    const session = openSession(context);
    void session.keep();
    void reopenEndpoint(session, credentials, context.over, (text) => context.log.system(text));
  },
};

/**
 * The part of terraform's environment that leads to its cloud credentials. Empty for a job without
 * an identity.
 */
export function cloudEnvironment(context: JobContext): Record<string, string> {
  const provider = providerOf(context);
  if (provider === undefined) return {};
  const { credentials } = context.facts;
  return {
    ...context.settings.cloud[provider],
    ...(credentials ? endpointEnvironment(credentials) : {}),
  };
}

function providerOf({ claim: { cloud_identity } }: JobContext): CloudProvider | undefined {
  if (!cloud_identity) return undefined;
  const named = cloud_identity.provider.toLowerCase();
  const provider = cloudProviders.find((known) => known === named);
  if (provider) return provider;
  throw new StepFailed(
    `credentials: this agent does not support the cloud provider "${cloud_identity.provider}", only ${cloudProviders.join(", ")}`,
  );
}

function openSession(context: JobContext): RoleSession {
  const { claim, settings, log, over } = context;
  const { id, spec_id, zone_id } = claim.job;
  const { role_arn, external_id } = claim.cloud_identity ?? {};
  if (!role_arn) throw new StepFailed("credentials: the cloud identity names no role");
  const tags = { "windlass:job": id, "windlass:spec": spec_id, "windlass:zone": zone_id };
  const role = { arn: role_arn, externalId: external_id, session: id, tags };
  return new RoleSession({
    assume: roleAssumer(role, { aws: settings.cloud.aws, network: settings.network }),
    over,
    onCredentials: ({ accessKeyId, secretAccessKey, sessionToken }) =>
      conceal(context, [accessKeyId, secretAccessKey, sessionToken]),
    onTrouble: (text) => log.system(text),
  });
}
