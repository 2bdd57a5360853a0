/** What the cloud identity of a claim is, and what terraform's environment has of it. */
import { join } from "node:path";
import {
  identityProviders,
  isIssued,
  principalFields,
  requiredFields,
  type IdentityProvider,
} from "../../../protocol/identity-kinds.ts";
import type { ClaimedJob } from "../../../protocol/executions.ts";
import { plainAddress } from "../../machine/network.ts";
import { StepFailedError, type JobContext } from "../context.ts";
import { cloudProviders } from "./cloud-providers.ts";
import { endpointEnvironment, tokenUrl } from "./endpoint-address.ts";
import type { Phase } from "./held-identity.ts";
import type { VaultPlace } from "./vault-client.ts";

export type ClaimedIdentity = NonNullable<ClaimedJob["cloud_identity"]>;

/**
 * `machine`: the machine's own identity at Google or Azure, for a control plane that gives no
 * tokens. Undefined: the job has no identity.
 */
export function kindOf({
  claim,
}: Pick<JobContext, "claim">): IdentityProvider | "machine" | undefined {
  const { cloud_identity } = claim;
  if (!cloud_identity) return undefined;
  const named = cloud_identity.provider.toLowerCase();
  const kind = identityProviders.find((known) => known === named);
  if (!kind)
    throw new StepFailedError(
      `credentials: this agent does not support the cloud provider "${cloud_identity.provider}", only ${identityProviders.join(", ")}`,
    );
  if (kind === "gcp" && cloud_identity.workload_identity_provider === undefined) return "machine";
  if (kind === "azure" && cloud_identity.client_id === undefined) return "machine";
  const audience = isIssued(kind) ? (["audience"] as const) : [];
  for (const field of [...requiredFields[kind], ...audience]) fieldOf({ claim }, field);
  return kind;
}

/** A field that the identity must have. */
export function fieldOf({ claim }: Pick<JobContext, "claim">, name: keyof ClaimedIdentity): string {
  const value = claim.cloud_identity?.[name];
  if (!value) throw new StepFailedError(`credentials: the cloud identity names no ${name}`);
  return value;
}

/** A DEPLOY without a plan to apply, and a destruction, plan first: they are in both phases. */
export function phaseOf({
  claim: { job },
  facts,
  journal,
}: Pick<JobContext, "claim" | "facts" | "journal">): Phase {
  if (job.job_type === "PLAN") return "plan";
  const isApplying = journal.find("begun", ({ step }) => step === "apply") !== undefined;
  return facts.manifest || isApplying ? "apply" : "plan";
}

/** The role, service account or application of the phase. Undefined if the claim names none. */
export function principalOf(
  { claim }: Pick<JobContext, "claim">,
  kind: IdentityProvider,
  phase: Phase,
): string | undefined {
  const name = principalFields[kind];
  const usual = claim.cloud_identity?.[name];
  return phase === "plan" ? (claim.cloud_identity?.[`plan_${name}`] ?? usual) : usual;
}

const optional = (name: string, value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { [name]: value };

/** Leads terraform to its cloud credentials. Empty for a job without an identity. */
export function cloudEnvironment(context: JobContext): Record<string, string> {
  const { settings, facts, workspace } = context;
  const { cloud } = settings;
  const { credentials: address } = facts;
  const identity = context.claim.cloud_identity;
  switch (kindOf(context)) {
    case undefined:
      return {};
    case "machine":
      return { ...cloud[cloudProviders.find((one) => one === identity?.provider.toLowerCase())!] };
    case "aws":
    case "aws_web_identity":
      return { ...cloud.aws, ...(address ? endpointEnvironment(address) : {}) };
    case "gcp":
      return {
        GOOGLE_APPLICATION_CREDENTIALS: workspace.googleCredentials,
        // For gcloud, which reads the variable above only for its command `auth`.
        CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE: workspace.googleCredentials,
      };
    case "azure":
      return {
        ...optional("ARM_ENVIRONMENT", cloud.azure["ARM_ENVIRONMENT"]),
        ...optional("AZURE_AUTHORITY_HOST", cloud.azure["AZURE_AUTHORITY_HOST"]),
        ARM_USE_OIDC: "true",
        ARM_USE_CLI: "false",
        ARM_USE_MSI: "false",
        ARM_TENANT_ID: fieldOf(context, "tenant_id"),
        ARM_CLIENT_ID: principalOf(context, "azure", phaseOf(context)) ?? "",
        ...optional("ARM_SUBSCRIPTION_ID", identity?.subscription_id),
        ...(address
          ? {
              ARM_OIDC_REQUEST_URL: `${tokenUrl(address)}?audience=${encodeURIComponent(fieldOf(context, "audience"))}`,
              ARM_OIDC_REQUEST_TOKEN: address.token,
            }
          : {}),
      };
    case "vault":
      return {
        VAULT_ADDR: plainAddress(fieldOf(context, "address")),
        ...optional("VAULT_NAMESPACE", identity?.namespace),
        ...(identity?.ca === undefined ? {} : { VAULT_CACERT: workspace.vaultAuthority }),
      };
  }
}

export const vaultPlaceOf = (context: Pick<JobContext, "claim">): VaultPlace => ({
  address: fieldOf(context, "address"),
  mount: fieldOf(context, "mount"),
  namespace: context.claim.cloud_identity?.namespace,
  ca: context.claim.cloud_identity?.ca,
});

/** Where Vault's programs and its provider look for a token. */
export const vaultTokenFile = (home: string): string => join(home, ".vault-token");

/** Variables that would make terraform act as someone else, or send its credentials elsewhere. */
const replacedNames: Readonly<Partial<Record<IdentityProvider, RegExp>>> = {
  gcp: /^(GOOGLE_(BACKEND_)?(CREDENTIALS|IMPERSONATE_SERVICE_ACCOUNT)|GOOGLE_(APPLICATION_CREDENTIALS|CLOUD_KEYFILE_JSON|OAUTH_ACCESS_TOKEN|EXTERNAL_ACCOUNT_.*)|GCLOUD_KEYFILE_JSON|CLOUDSDK_(AUTH_.*|CONFIG))$/i,
  azure:
    /^(ARM_(TENANT_ID|CLIENT_.*|USE_.*|OIDC_.*|MSI_.*|ACCESS_KEY|SAS_TOKEN|ENVIRONMENT|METADATA_HOST.*|ADO_.*)|AZURE_.*|ACTIONS_ID_TOKEN_.*|SYSTEM_(ACCESSTOKEN|OIDCREQUESTURI))$/i,
  vault: /^(VAULT|BAO)_/i,
};

/** The variables of the configuration that its identity replaces. */
export function replacedVariables(context: Pick<JobContext, "claim">): string[] {
  const kind = kindOf(context);
  const pattern = kind && kind !== "machine" ? replacedNames[kind] : undefined;
  const { environment = {} } = context.claim.job.config_snapshot;
  return Object.keys(environment).filter((name) => pattern?.test(name));
}
