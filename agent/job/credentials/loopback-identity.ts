/**
 * Hands out what a job needs at a port on loopback: credentials of an AWS role, or the job's own
 * token, which terraform's providers exchange at Google or Azure themselves.
 */
import { join } from "node:path";
import type { IdentityProvider } from "../../../protocol/identity-kinds.ts";
import type { JobContext } from "../context.ts";
import { conceal } from "../secrets.ts";
import { roleAssumer } from "./assume-role.ts";
import { fieldOf, phaseOf, principalOf } from "./cloud-identity.ts";
import { Endpoint } from "./endpoint.ts";
import { tokenUrl, type EndpointAddress } from "./endpoint-address.ts";
import { giveFile } from "./give-file.ts";
import { patience, type HeldIdentity, type Phase } from "./held-identity.ts";
import { claimsOf, identityToken } from "./identity-token.ts";
import type { Handout } from "./listener-messages.ts";
import { RenewedSession } from "./renewed-session.ts";
import { webIdentityAssumer } from "./web-identity.ts";

export type LoopbackKind = Exclude<IdentityProvider, "vault">;

/** Its libraries exchange the token themselves. */
const handsOutToken = (kind: LoopbackKind): kind is "azure" | "gcp" =>
  kind === "azure" || kind === "gcp";

export function loopbackIdentity(context: JobContext, kind: LoopbackKind): HeldIdentity {
  const { claim, settings, log, over, directory, journal, facts } = context;
  const onTrouble = (text: string): void => log.system(text);
  let phase = phaseOf(context);
  const obtainers = new Map<string, (signal: AbortSignal) => Promise<Handout>>();
  const session: RenewedSession<Handout> = new RenewedSession<Handout>({
    source: handsOutToken(kind) ? "The control plane" : "STS",
    obtain(signal) {
      const key = kind === "aws" ? (principalOf(context, kind, phase) ?? "") : phase;
      const obtain = obtainers.get(key) ?? obtainerOf(context, kind, phase);
      obtainers.set(key, obtain);
      return obtain(signal);
    },
    over,
    onCredentials(found) {
      // A token of the job is concealed already.
      if (!("token" in found))
        conceal(context, [found.accessKeyId, found.secretAccessKey, found.sessionToken]);
    },
    onRenewed: () => endpoint.renewed(),
    onTrouble,
  });
  const endpoint = new Endpoint({
    job: claim.job.id,
    workDir: settings.workDir,
    runs: join(directory, "runs"),
    session,
    over,
    onAddress(address) {
      conceal(context, [address.token]);
      journal.append({ at: "endpoint", address });
      facts.credentials = address;
      if (kind === "gcp") giveGoogleFile(context, address, phase);
    },
    onTrouble,
  });

  return {
    async begin(stop) {
      // The first job has to wait for the endpoint's process, which takes as long as STS.
      await Promise.all([session.begin(stop, patience), endpoint.open()]);
      void session.keep();
    },
    async resume() {
      const last = journal.entries.findLast((entry) => entry.at === "endpoint");
      const address = last?.address ?? facts.credentials;
      if (!address) return;
      facts.credentials = address;
      void session.keep();
      await endpoint.resume(address, last !== undefined);
    },
    async enter(stop) {
      const next = phaseOf(context);
      if (isOther(context, kind, phase, next)) session.reset();
      phase = next;
      await session.begin(stop, patience);
      if (kind === "gcp" && facts.credentials) giveGoogleFile(context, facts.credentials, phase);
      await endpoint.settle();
    },
    place() {},
    describe() {
      const { valid } = session;
      const whose = describePrincipal(context, kind, phase);
      return valid && "token" in valid
        ? `${whose}, ${claimsOf(valid.token)}`
        : `${whose}, session ${claim.job.id}`;
    },
  };
}

/** The agent's own AWS credentials know no phases, only roles. */
const isOther = (context: JobContext, kind: LoopbackKind, before: Phase, next: Phase): boolean =>
  before !== next &&
  (kind !== "aws" || principalOf(context, kind, before) !== principalOf(context, kind, next));

function obtainerOf(
  context: JobContext,
  kind: LoopbackKind,
  phase: Phase,
): (signal: AbortSignal) => Promise<Handout> {
  if (handsOutToken(kind)) return (signal) => identityToken(context, phase, signal);
  const { claim, settings } = context;
  const { id, spec_id, zone_id } = claim.job;
  const arn = principalOf(context, kind, phase) ?? "";
  const sts = { aws: settings.cloud.aws, network: settings.network };
  if (kind === "aws_web_identity")
    return webIdentityAssumer(
      { arn, session: id },
      async (signal) => (await identityToken(context, phase, signal)).token,
      sts,
    );
  const tags = { "windlass:job": id, "windlass:spec": spec_id, "windlass:zone": zone_id };
  const externalId = claim.cloud_identity?.external_id;
  return roleAssumer({ arn, externalId, session: id, tags }, sts);
}

function describePrincipal(context: JobContext, kind: LoopbackKind, phase: Phase): string {
  const principal = principalOf(context, kind, phase) ?? "Google Cloud";
  return kind === "azure" ? `client ${principal} of Azure` : principal;
}

/** An external account, whose token Google's libraries read from loopback whenever they need one. */
function giveGoogleFile(context: JobContext, address: EndpointAddress, phase: Phase): void {
  const account = principalOf(context, "gcp", phase);
  const content = {
    type: "external_account",
    universe_domain: "googleapis.com",
    audience: `//iam.googleapis.com/${fieldOf(context, "workload_identity_provider")}`,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: "https://sts.googleapis.com/v1/token",
    credential_source: {
      url: tokenUrl(address),
      headers: { Authorization: `Bearer ${address.token}` },
      format: { type: "json", subject_token_field_name: "value" },
    },
    ...(account === undefined
      ? {}
      : {
          service_account_impersonation_url: `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${account}:generateAccessToken`,
        }),
  };
  giveFile(context, context.workspace.googleCredentials, `${JSON.stringify(content, null, 2)}\n`);
}
