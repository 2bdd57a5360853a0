/**
 * The cloud providers, and which of the agent's variables terraform gets for each: names of places,
 * ids and files, no secret. Only with `aws` a role is assumed; others use the machine's identity.
 */

export const cloudProviders = ["aws", "gcp", "azure"] as const;
export type CloudProvider = (typeof cloudProviders)[number];

/** By provider: variables for terraform's environment. */
export type CloudSettings = Readonly<Record<CloudProvider, Readonly<Record<string, string>>>>;

const names: Readonly<Record<CloudProvider, RegExp>> = {
  aws: /^AWS_(REGION|DEFAULT_REGION|CA_BUNDLE|USE_FIPS_ENDPOINT|USE_DUALSTACK_ENDPOINT|ENDPOINT_URL(_[A-Z0-9_]+)?)$/,
  gcp: /^(GOOGLE_APPLICATION_CREDENTIALS|GOOGLE_IMPERSONATE_SERVICE_ACCOUNT)$/,
  azure:
    /^(ARM_(TENANT_ID|CLIENT_ID|SUBSCRIPTION_ID|ENVIRONMENT|USE_MSI|USE_OIDC|USE_AKS_WORKLOAD_IDENTITY|OIDC_TOKEN_FILE_PATH)|AZURE_(TENANT_ID|CLIENT_ID|AUTHORITY_HOST|FEDERATED_TOKEN_FILE))$/,
};

/** The agent's variables that jobs of each provider get. */
export function cloudSettings(environment: Readonly<Record<string, string | undefined>>) {
  const of = (provider: CloudProvider): Record<string, string> =>
    Object.fromEntries(
      Object.entries(environment).flatMap(([name, value]) =>
        value && names[provider].test(name) ? [[name, value]] : [],
      ),
    );
  return { aws: of("aws"), gcp: of("gcp"), azure: of("azure") } satisfies CloudSettings;
}
