/** The kinds of cloud identities, without schemas: the agent and the client read them too. */

/** Kinds for which the runner gets tokens of the issuer, by provider. */
export const issuedProviders = ["aws_web_identity", "azure", "gcp", "vault"] as const;
export type IssuedProvider = (typeof issuedProviders)[number];

/** With `aws` the runner assumes the role as itself, with an external id. */
export const identityProviders = ["aws", ...issuedProviders] as const;
export type IdentityProvider = (typeof identityProviders)[number];

/** The field that names what jobs act as at the provider. That of PLANs begins with `plan_`. */
export const principalFields = {
  aws: "role_arn",
  aws_web_identity: "role_arn",
  azure: "client_id",
  gcp: "service_account",
  vault: "role",
} as const satisfies Readonly<Record<IdentityProvider, string>>;
/** What an identity cannot be without. */
export const requiredFields = {
  aws: ["role_arn"],
  aws_web_identity: ["role_arn"],
  azure: ["tenant_id", "client_id"],
  gcp: ["workload_identity_provider"],
  vault: ["address", "role"],
} as const satisfies Readonly<Record<IdentityProvider, readonly string[]>>;
type PrincipalField = (typeof principalFields)[IdentityProvider];
export type PlanField = `plan_${PrincipalField}`;

/** What the subject of a token names last, apart from the phase. */
export const subjectForms = ["configuration", "zone", "identity"] as const;
export type SubjectForm = (typeof subjectForms)[number];

/** Limit of the subject of a token in characters. */
export const subjectLimit = 255;

export const isIssued = (provider: string): provider is IssuedProvider =>
  (issuedProviders as readonly string[]).includes(provider);

/** What the provider requires of an issuer that has not this address; undefined if it takes it. */
export function issuerFault(provider: IssuedProvider, address: string): string | undefined {
  const { protocol, port } = new URL(address);
  if (provider === "vault") return undefined;
  if (protocol !== "https:") return "the issuer must have https";
  return provider === "aws_web_identity" && port !== ""
    ? "the issuer must have no port"
    : undefined;
}

type Principals = { readonly provider: IdentityProvider } & {
  readonly [F in PrincipalField | PlanField]?: string | null;
};

/** What jobs act as; empty for an identity of `gcp` whose jobs act as themselves. */
export const principalOf = (identity: Principals): string =>
  identity[principalFields[identity.provider]] ?? "";

/** What every PLAN acts as; empty: the same. */
export const planPrincipalOf = (identity: Principals): string =>
  identity[`plan_${principalFields[identity.provider]}`] ?? "";
