/** The kinds of cloud identities: which fields each has, and what its jobs are given. Pure. */
import { X509Certificate } from "node:crypto";
import {
  isIssued,
  principalFields,
  requiredFields,
  type IdentityProvider,
  type SubjectForm,
} from "../../protocol/identity-kinds.ts";
import { invalid } from "./refusal.ts";

/** What a user may write of an identity, apart from its name and provider. */
export type IdentityFields = Readonly<Record<string, string | boolean | null | undefined>>;

/** The columns that hold them. */
export interface IdentityColumns {
  readonly role_arn: string;
  readonly plan_role_arn: string | null;
  readonly settings: string | null;
}

const issued = ["audience", "subject"];
const optionalFields: Readonly<Record<IdentityProvider, readonly string[]>> = {
  aws: ["plan_role_arn"],
  aws_web_identity: ["plan_role_arn", "session_tags", ...issued],
  azure: ["plan_client_id", "subscription_id", ...issued],
  gcp: ["service_account", "plan_service_account", ...issued],
  vault: ["plan_role", "mount", "namespace", "ca", ...issued],
};

/** The names of the fields of a provider. */
export const fieldNamesOf = (provider: IdentityProvider): readonly string[] => [
  ...requiredFields[provider],
  ...optionalFields[provider],
];

/** How many certificates `ca` may have. */
export const certificatesLimit = 20;

/** Returns the columns of the fields after a change. Throws if a field is not of this provider. */
export function columnsOf(
  provider: IdentityProvider,
  change: IdentityFields,
  before?: IdentityColumns,
): IdentityColumns {
  const known = fieldNamesOf(provider);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || known.includes(name)) continue;
    throw invalid(`body.${name}`, `is not a field of an identity of the provider ${provider}`);
  }
  const fields = { ...(before ? storedFields({ provider, ...before }) : {}), ...change };
  for (const name of requiredFields[provider])
    if (fields[name] === undefined || fields[name] === null)
      throw invalid(`body.${name}`, `is missing: an identity of the provider ${provider} needs it`);
  if (typeof change["ca"] === "string") checkCertificates(change["ca"]);
  // The pattern of the field does not check ports and hosts.
  if (typeof change["address"] === "string" && !URL.canParse(change["address"]))
    throw invalid("body.address", "is no address: check its host and its port");
  const principal = principalFields[provider];
  const own = Object.fromEntries(
    known
      .filter((name) => name !== principal && name !== `plan_${principal}`)
      .flatMap((name) => (isSet(fields[name]) ? [[name, fields[name]]] : [])),
  );
  const { audience: _, ...others } = own;
  const defaults = defaultsOf(provider, JSON.stringify(others));
  // What equals its default follows it, and a plan stays deployable if a form repeats it.
  const settings = Object.fromEntries(
    Object.entries(own).filter(([name, value]) => value !== defaults[name]),
  );
  return {
    role_arn: (fields[principal] as string | null | undefined) ?? "",
    plan_role_arn: (fields[`plan_${principal}`] as string | null | undefined) ?? null,
    settings: isIssued(provider) ? JSON.stringify(settings) : null,
  };
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function checkCertificates(pem: string): void {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const isRight =
    found.length > 0 && found.length <= certificatesLimit && found.every(isCertificate);
  if (!isRight) throw invalid("body.ca", `must be 1 to ${certificatesLimit} certificates in PEM`);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

type StoredIdentity = IdentityColumns & { readonly provider: IdentityProvider };

/** The fields that are set, without defaults. */
function storedFields({
  provider,
  role_arn,
  plan_role_arn,
  settings,
}: StoredIdentity): IdentityFields {
  const principal = principalFields[provider];
  return {
    ...(role_arn === "" ? {} : { [principal]: role_arn }),
    ...(plan_role_arn === null ? {} : { [`plan_${principal}`]: plan_role_arn }),
    ...settingsIn(settings),
  };
}

interface Settings {
  readonly audience?: string;
  readonly subject?: SubjectForm;
  readonly session_tags?: boolean;
  readonly workload_identity_provider?: string;
  readonly address?: string;
  readonly [name: string]: string | boolean | undefined;
}

const settingsIn = (settings: string | null): Settings =>
  settings === null ? {} : (JSON.parse(settings) as Settings);

/** The audience of its tokens; undefined without tokens. */
export function audienceOf({ provider, settings }: Pick<StoredIdentity, "provider" | "settings">) {
  const { audience, workload_identity_provider, address } = settingsIn(settings);
  const defaults: Readonly<Record<IdentityProvider, string | undefined>> = {
    aws: undefined,
    aws_web_identity: "sts.amazonaws.com",
    azure: "api://AzureADTokenExchange",
    gcp: `//iam.googleapis.com/${workload_identity_provider}`,
    vault: address,
  };
  return audience ?? defaults[provider];
}

/** What the subject of its tokens names. */
export const subjectFormOf = (settings: string | null): SubjectForm =>
  settingsIn(settings).subject ?? "configuration";

export const hasSessionTags = (settings: string | null): boolean =>
  settingsIn(settings).session_tags === true;

/** The fields of a response: all that the provider has, with defaults; null is not set. */
export function shownFieldsOf(identity: StoredIdentity): IdentityFields {
  const { provider, settings } = identity;
  const unset = Object.fromEntries(fieldNamesOf(provider).map((name) => [name, null]));
  return {
    ...unset,
    ...defaultsOf(provider, settings),
    ...storedFields(identity),
  };
}

function defaultsOf(provider: IdentityProvider, settings: string | null): IdentityFields {
  if (!isIssued(provider)) return {};
  return {
    audience: audienceOf({ provider, settings }),
    subject: "configuration",
    ...(provider === "vault" ? { mount: "jwt" } : {}),
    ...(provider === "aws_web_identity" ? { session_tags: false } : {}),
  };
}

/** What a claim recorded of an identity. An older server recorded no settings. */
export type UsedIdentity = Omit<StoredIdentity, "plan_role_arn" | "settings"> & {
  readonly external_id: string;
  readonly plan_role_arn?: string | null;
  readonly settings?: string;
};

/** The identity in a claim. A PLAN gets the principal of plans in place of the other one. */
export function claimedFieldsOf(used: UsedIdentity, isPlan: boolean): IdentityFields {
  const { provider, role_arn, plan_role_arn = null, settings = null, external_id } = used;
  const principal = principalFields[provider];
  const acting = (isPlan ? plan_role_arn : null) ?? role_arn;
  if (settings === null) return { provider, role_arn: acting, external_id };
  const { subject: _, session_tags: _tags, ...shown } = settingsIn(settings);
  return {
    provider,
    ...(acting === "" ? {} : { [principal]: acting }),
    ...(plan_role_arn === null ? {} : { [`plan_${principal}`]: plan_role_arn }),
    ...(provider === "vault" ? { mount: "jwt" } : {}),
    ...shown,
    audience: audienceOf({ provider, settings }),
  };
}
