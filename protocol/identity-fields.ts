/** The fields of cloud identities, by provider. */
import { Type } from "typebox";
import { about, Nullable, OneOf, Uuid } from "./fields.ts";
import { subjectForms } from "./identity-kinds.ts";

const RoleArn = Type.String({
  maxLength: 600,
  pattern: "^arn:aws[a-z-]*:iam::\\d{12}:role/[\\w+=,.@/-]{1,512}$",
  "x-form": "the ARN of a role, such as arn:aws:iam::123456789012:role/windlass",
});
export const Audience = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^[\\u0021-\\u007e]+$",
  "x-form": "printable characters without spaces",
  examples: ["sts.amazonaws.com"],
});
const GcpProvider = Type.String({
  maxLength: 200,
  pattern:
    "^projects/\\d{1,20}/locations/global/workloadIdentityPools/[a-z0-9-]{4,32}/providers/[a-z0-9-]{4,32}$",
  "x-form":
    "the path of a provider, such as projects/123456789012/locations/global/workloadIdentityPools/windlass/providers/windlass",
});
const ServiceAccount = Type.String({
  maxLength: 254,
  pattern: "^[a-z0-9][a-z0-9-]{0,62}@[a-z0-9][a-z0-9.-]{0,160}\\.gserviceaccount\\.com$",
  "x-form": "the address of a service account, such as deploy@my-project.iam.gserviceaccount.com",
});
const VaultAddress = Type.String({
  maxLength: 255,
  pattern: "^https?://[^\\s/?#@]+(/[^\\s?#]*)?$",
  "x-form":
    "an address such as https://vault.example.com:8200, without user name, query and fragment",
  examples: ["https://vault.example.com:8200"],
});
const path = "[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*";
const VaultPath = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: `^${path}$`,
  "x-form": "a path of letters, digits and _ . -, without a slash at the ends",
  examples: ["jwt"],
});
const VaultNamespace = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: `^${path}/?$`,
  "x-form": "the path of a namespace, such as platform/live",
  examples: ["platform/live"],
});
const VaultRole = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: "^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$",
  "x-form": "letters, digits and _ . -, with a letter or a digit at both ends",
  examples: ["deploy"],
});
const Pem = Type.String({
  minLength: 1,
  maxLength: 65_536,
  description: "`vault`: the certificates that its certificate must lead to, in PEM.",
  examples: ["-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n"],
});

/** What a user writes, and the settings that a change may take away. */
const principals = {
  role_arn: about(RoleArn, "`aws` and `aws_web_identity`: the role that jobs assume."),
  service_account: about(
    Nullable(ServiceAccount),
    "`gcp`: the service account that jobs act as. Without it, roles are granted to the job's own principal.",
  ),
  client_id: about(Uuid, "`azure`: the client id of the application or managed identity."),
  role: about(VaultRole, "`vault`: the role of the JWT auth method."),
  plan_role_arn: about(
    Nullable(RoleArn),
    "The role that every PLAN assumes (`aws`: with the same external id): one that can only read. With it, plans of pull requests have the identity too.",
  ),
  plan_service_account: about(
    Nullable(ServiceAccount),
    "`gcp`: the service account that every PLAN acts as.",
  ),
  plan_client_id: about(
    Nullable(Uuid),
    "`azure`: the client id of the application that every PLAN signs in as.",
  ),
  plan_role: about(Nullable(VaultRole), "`vault`: the role of every PLAN."),
};
const settings = {
  audience: about(
    Nullable(Audience),
    "The audience of its tokens. Default: `sts.amazonaws.com` (`aws_web_identity`), `//iam.googleapis.com/` and the provider (`gcp`), `api://AzureADTokenExchange` (`azure`), `address` (`vault`).",
  ),
  workload_identity_provider: about(GcpProvider, "`gcp`: the provider of the identity pool."),
  tenant_id: about(Uuid, "`azure`: the directory (tenant)."),
  subscription_id: about(Nullable(Uuid), "`azure`: the subscription that jobs work in."),
  address: about(VaultAddress, "`vault`: where Vault or OpenBao is, as the runners reach it."),
  mount: about(VaultPath, "`vault`: where the JWT auth method is mounted. Default: jwt."),
  namespace: about(Nullable(VaultNamespace), "`vault`: the namespace."),
  ca: Nullable(Pem),
  subject: about(
    OneOf(subjectForms),
    "What the subject of its tokens names: the configuration, only its zone, or only this identity. Default: configuration. Not for `aws`.",
  ),
  session_tags: Type.Boolean({
    description:
      "`aws_web_identity`: whether tokens carry session tags (`https://aws.amazon.com/tags`). Default: false.",
  }),
};

/** Each may be absent. The service checks which of them the provider has and needs. */
export const writtenFields = Type.Partial(Type.Object({ ...principals, ...settings })).properties;

/** In a response: those that the provider has. */
export const shownFields = Type.Partial(
  Type.Object({
    ...principals,
    ...settings,
    role_arn: about(Type.String(), "The role that jobs assume."),
    plan_role_arn: about(
      Nullable(Type.String()),
      "The role that every PLAN assumes; null: `role_arn`.",
    ),
    audience: about(Type.String(), "The audience of its tokens."),
  }),
).properties;

/** In a claim: those that are set, with their defaults. */
export const claimedFields = Type.Partial(
  Type.Object({
    role_arn: Type.String(),
    plan_role_arn: Type.String(),
    service_account: Type.String(),
    plan_service_account: Type.String(),
    client_id: Type.String(),
    plan_client_id: Type.String(),
    role: Type.String(),
    plan_role: Type.String(),
    audience: Type.String(),
    workload_identity_provider: Type.String(),
    tenant_id: Type.String(),
    subscription_id: Type.String(),
    address: Type.String(),
    mount: Type.String(),
    namespace: Type.String(),
    ca: Type.String(),
  }),
).properties;
