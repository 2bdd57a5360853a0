/** Gives a job's terraform its cloud credentials. */
import { join } from "node:path";
import { roleAssumer } from "./assume-role.ts";
import { cloudProviders, type CloudProvider } from "./cloud-providers.ts";
import { JobStoppedError, StepFailedError, type JobContext, type Step } from "../context.ts";
import { Endpoint } from "./endpoint.ts";
import { endpointEnvironment } from "./endpoint-address.ts";
import { JournalError, type StopReason } from "../journal.ts";
import { RoleSession } from "./role-session.ts";
import { conceal } from "../secrets.ts";

/** For how many milliseconds temporary failures are retried before the job fails. */
const patience = 120_000;

/**
 * Assumes the role before terraform starts, so that a wrong one fails here with a clear message.
 * Terraform reads the credentials again and again, from an endpoint on loopback.
 */
export const obtainCredentials: Step = {
  name: "credentials",
  async run(context) {
    const { claim, stop, log } = context;
    const provider = providerOf(context);
    if (provider === undefined) return {};
    if (provider !== "aws") {
      log.system(`Cloud identity: this machine's own identity at ${provider}`);
      return {};
    }
    const { session, endpoint } = openSession(context);
    try {
      // The first job has to wait for the endpoint's process, which takes as long as STS.
      await Promise.all([session.begin(stop, patience), endpoint.open()]);
    } catch (error) {
      if (stop.aborted) throw new JobStoppedError(stop.reason as StopReason);
      throw failureOf(error as Error);
    }
    void session.keep();
    log.system(`Cloud identity: ${claim.cloud_identity?.role_arn}, session ${claim.job.id}`);
    return {};
  },
  async resume(context, { credentials: ofOlderAgent }) {
    const last = context.journal.entries.findLast((entry) => entry.at === "endpoint");
    const address = last?.address ?? ofOlderAgent;
    if (!address) return;
    context.facts.credentials = address;
    const { session, endpoint } = openSession(context);
    void session.keep();
    try {
      await endpoint.resume(address, last !== undefined);
    } catch (error) {
      throw failureOf(error as Error);
    }
  },
};

const failureOf = (error: Error): Error =>
  error instanceof JournalError ? error : new StepFailedError(`credentials: ${error.message}`);

/** Leads terraform to its cloud credentials. Empty for a job without an identity. */
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
  throw new StepFailedError(
    `credentials: this agent does not support the cloud provider "${cloud_identity.provider}", only ${cloudProviders.join(", ")}`,
  );
}

function openSession(context: JobContext): { session: RoleSession; endpoint: Endpoint } {
  const { claim, settings, log, over, directory, journal } = context;
  const { id, spec_id, zone_id } = claim.job;
  const { role_arn, external_id } = claim.cloud_identity ?? {};
  if (!role_arn) throw new StepFailedError("credentials: the cloud identity names no role");
  const tags = { "windlass:job": id, "windlass:spec": spec_id, "windlass:zone": zone_id };
  const role = { arn: role_arn, externalId: external_id, session: id, tags };
  const onTrouble = (text: string): void => log.system(text);
  const session: RoleSession = new RoleSession({
    assume: roleAssumer(role, { aws: settings.cloud.aws, network: settings.network }),
    over,
    onCredentials: ({ accessKeyId, secretAccessKey, sessionToken }) =>
      conceal(context, [accessKeyId, secretAccessKey, sessionToken]),
    onRenewed: () => endpoint.renewed(),
    onTrouble,
  });
  const endpoint = new Endpoint({
    job: id,
    workDir: settings.workDir,
    runs: join(directory, "runs"),
    session,
    over,
    onAddress(address) {
      conceal(context, [address.token]);
      journal.append({ at: "endpoint", address });
      context.facts.credentials = address;
    },
    onTrouble,
  });
  return { session, endpoint };
}
