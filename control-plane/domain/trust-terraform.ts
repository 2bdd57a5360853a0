/**
 * The terraform with which a cloud or Vault trusts the tokens of one identity. It is a start, to be
 * read and changed: what it creates may exist already.
 */
import {
  issuerFault,
  principalFields,
  type IssuedProvider,
} from "../../protocol/identity-kinds.ts";
import type { TokenPhase } from "../../protocol/identity-tokens.ts";
import { block, quoted, raw, setOf, when, type Entry } from "./hcl.ts";

/** What a configuration with the identity is trusted by. */
export interface Trusted {
  readonly configuration_id: string;
  readonly zone_id: string;
  /** The subjects of both phases. */
  readonly subjects: Readonly<Record<TokenPhase, string>>;
}

export interface TrustOf {
  readonly id: string;
  readonly name: string;
  readonly provider: IssuedProvider;
  readonly space_id: string;
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  /** The subjects of all its tokens; null if they name the zone or the configuration. */
  readonly own: Trusted["subjects"] | null;
  /** All fields of the identity, with defaults; null is not set. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly trusted: readonly Trusted[];
  /** Whether more configurations use the identity than are named. */
  readonly isCut: boolean;
}

/** One principal, and the phases in which jobs act as it. */
interface Acting {
  readonly label: "apply" | "plan";
  readonly principal: string;
  readonly phases: readonly TokenPhase[];
}

/** How many characters of subjects fit into the trust policy of a role beside the rest of it. */
const awsSubjects = 1500;
/** How many subjects an application of Azure can have. */
const azureSubjects = 20;

export function trustTerraform(of: TrustOf): string {
  const parts = builders[of.provider](of, actingOf(of));
  return `${[headOf(of), ...parts].join("\n\n")}\n`;
}

/** With a principal of plans, the other one acts in the phase apply alone. */
function actingOf({ provider, fields }: TrustOf): Acting[] {
  const field = principalFields[provider];
  const principal = text(fields[field]);
  const plan = text(fields[`plan_${field}`]);
  return plan === ""
    ? [{ label: "apply", principal, phases: ["plan", "apply"] }]
    : [
        { label: "apply", principal, phases: ["apply"] },
        { label: "plan", principal: plan, phases: ["plan"] },
      ];
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** What the provider cannot check. */
const notes: Readonly<Partial<Record<IssuedProvider, string>>> = {
  aws_web_identity:
    "AWS checks subject and audience, and no other claim. One provider serves all roles of an account.",
  azure: "Azure checks issuer, subject and audience, and no other claim. Subjects are exact.",
};

function headOf({ name, provider, issuer, own, trusted, isCut }: TrustOf): string {
  const fault = issuerFault(provider, issuer);
  const count = own ? undefined : trusted.length;
  const lines = [
    `Trust of the cloud identity ${quoted(name)} in tokens of ${issuer}`,
    notes[provider],
    fault &&
      `WARNING: ${fault}: set WINDLASS_ISSUER_URL of the control plane, and print this again.`,
    count === 0 &&
      "No configuration uses the identity yet, so this admits no job: attach it, then print this again.",
    isCut && count && `More configurations use it than the ${count} below: add the others.`,
  ];
  return lines.flatMap((line) => (line ? [`# ${line}`] : [])).join("\n");
}

function subjectsOf({ own, trusted }: TrustOf, phases: readonly TokenPhase[]): string[] {
  const all = own ? [own] : trusted.map(({ subjects }) => subjects);
  return [...new Set(all.flatMap((one) => phases.map((phase) => one[phase])))];
}

/** In place of an empty list, which must not mean that everything is admitted. No token has it. */
const nothing = "none";
const orNothing = (values: readonly string[]): readonly string[] =>
  values.length > 0 ? values : [nothing];

/** The ids that tokens are trusted by, and the claim that has them. */
function idsOf({ subject, trusted }: TrustOf) {
  const claim = subject === "zone" ? ("zone_id" as const) : ("configuration_id" as const);
  return { claim, ids: [...new Set(trusted.map((one) => one[claim]))] };
}

/** What to do about too many subjects. */
const shorter = "choose an identity whose subject is the zone or the identity.";

type Builder = (of: TrustOf, acting: readonly Acting[]) => string[];

const builders: Readonly<Record<IssuedProvider, Builder>> = {
  aws_web_identity: aws,
  azure,
  gcp,
  vault,
};

const provider = "aws_iam_openid_connect_provider.windlass";

function aws(of: TrustOf, acting: readonly Acting[]): string[] {
  const { issuer, audience, fields } = of;
  const host = issuer.replace(/^https?:\/\//, "");
  const is = (claim: string, values: readonly string[]): Entry => ({
    block: "condition",
    entries: [
      ["test", "StringEquals"],
      ["variable", `${host}:${claim}`],
      ["values", values],
    ],
  });
  const tags = fields["session_tags"] === true ? ["sts:TagSession"] : [];
  return [
    block('resource "aws_iam_openid_connect_provider" "windlass"', [
      ["url", issuer],
      ["client_id_list", [audience]],
    ]),
    ...acting.flatMap((one) => {
      const subjects = subjectsOf(of, one.phases);
      const [, path = "/", name = ""] = /:role(\/(?:.*\/)?)([^/]+)$/.exec(one.principal) ?? [];
      return [
        block(`data "aws_iam_policy_document" "windlass_${one.label}"`, [
          {
            block: "statement",
            entries: [
              ["actions", ["sts:AssumeRoleWithWebIdentity", ...tags]],
              "",
              {
                block: "principals",
                entries: [
                  ["type", "Federated"],
                  ["identifiers", raw(`[${provider}.arn]`)],
                ],
              },
              "",
              is("aud", [audience]),
              "",
              is("sub", orNothing(subjects)),
            ],
          },
        ]),
        block(`resource "aws_iam_role" "windlass_${one.label}"`, [
          ...when(
            subjects.join().length > awsSubjects,
            `WARNING: AWS takes 2048 characters of this policy, unless the quota was raised: ${shorter}`,
          ),
          ["name", name],
          ...when(path !== "/", ["path", path]),
          ["assume_role_policy", raw(`data.aws_iam_policy_document.windlass_${one.label}.json`)],
        ]),
      ];
    }),
  ];
}

function azure(of: TrustOf, acting: readonly Acting[]): string[] {
  const { issuer, audience } = of;
  return acting.flatMap((one) => {
    const subjects = subjectsOf(of, one.phases);
    return [
      block(`data "azuread_application" "windlass_${one.label}"`, [["client_id", one.principal]]),
      block(
        `resource "azuread_application_federated_identity_credential" "windlass_${one.label}"`,
        [
          ...when(
            subjects.length > azureSubjects,
            `WARNING: Azure takes ${azureSubjects} of them: ${shorter}`,
          ),
          ["for_each", raw(setOf(subjects))],
          "",
          ["application_id", raw(`data.azuread_application.windlass_${one.label}.id`)],
          ["display_name", raw(String.raw`"windlass-${"${substr(sha256(each.value), 0, 16)}"}"`)],
          ["issuer", issuer],
          ["audiences", [audience]],
          ["subject", raw("each.value")],
        ],
      ),
    ];
  });
}

/** How long a condition of Google may be, in characters. */
const gcpCondition = 4096;

/** Which principals of the pool the tokens are. */
function gcpMembers(of: TrustOf) {
  // Two identities may have the same provider of a pool: each has an attribute of its own.
  const attribute = `attribute.identity_${of.id.replaceAll("-", "")}`;
  if (of.own)
    return {
      kind: "principalSet",
      value: attribute,
      mapping: {
        [attribute]: `assertion.sub in ${listOf(subjectsOf(of, ["plan", "apply"]))} ? assertion.phase : "${nothing}"`,
      },
      valuesOf: ({ phases }: Acting): readonly string[] => phases,
    };
  const { claim, ids } = idsOf(of);
  const isZone = claim === "zone_id";
  return {
    kind: isZone ? "principalSet" : "principal",
    value: isZone ? "attribute.zone_phase" : "subject",
    mapping: isZone ? { "attribute.zone_phase": "assertion.zone_id + ':' + assertion.phase" } : {},
    valuesOf: ({ phases }: Acting): readonly string[] =>
      ids.flatMap((one) => phases.map((phase) => `${one}:${phase}`)),
  };
}

const listOf = (texts: readonly string[]): string =>
  `[${texts.map((one) => JSON.stringify(one)).join(", ")}]`;

function gcp(of: TrustOf, acting: readonly Acting[]): string[] {
  const { issuer, audience, space_id, fields } = of;
  const path = text(fields["workload_identity_provider"]);
  const [, project = "", pool = "", name = ""] =
    /^projects\/(\d+)\/.*\/workloadIdentityPools\/([^/]+)\/providers\/([^/]+)$/.exec(path) ?? [];
  const isDefault = audience === `//iam.googleapis.com/${path}`;
  const poolName = "google_iam_workload_identity_pool.windlass";
  const { kind, value, mapping, valuesOf } = gcpMembers(of);
  const ofSpace = `assertion.space_id == ${JSON.stringify(space_id)}`;
  // Ids are shorter than two subjects; a zone's would admit those of its other identities.
  const ofUsers =
    of.subject === "configuration"
      ? `assertion.configuration_id in ${listOf(orNothing(idsOf(of).ids))}`
      : `assertion.sub in ${listOf(orNothing(subjectsOf(of, ["plan", "apply"])))}`;
  const condition = `${ofSpace} && ${ofUsers}`;
  const isLong = condition.length > gcpCondition;
  return [
    block('resource "google_iam_workload_identity_pool" "windlass"', [
      ["project", project],
      ["workload_identity_pool_id", pool],
    ]),
    block('resource "google_iam_workload_identity_pool_provider" "windlass"', [
      ["project", project],
      ["workload_identity_pool_id", raw(`${poolName}.workload_identity_pool_id`)],
      ["workload_identity_pool_provider_id", name],
      "",
      "A subject has at most 127 bytes here, so it is made of an id.",
      [
        "attribute_mapping",
        {
          "google.subject": "assertion.configuration_id + ':' + assertion.phase",
          ...mapping,
        },
      ],
      "",
      "Conditions may use every claim of the token. For example, only what ada has approved:",
      '  && (assertion.phase == "plan" || "ada@example.com" in assertion.approved_by)',
      ...when(
        isLong,
        `WARNING: a condition has at most ${gcpCondition} characters, so this admits all jobs of the space: grant nothing to principals of the pool but the members below.`,
      ),
      ["attribute_condition", isLong ? ofSpace : condition],
      "",
      {
        block: "oidc",
        entries: [["issuer_uri", issuer], ...when(!isDefault, ["allowed_audiences", [audience]])],
      },
    ]),
    ...acting.map((one) => {
      const member = `"${kind}://iam.googleapis.com/\${${poolName}.name}/${value}/\${each.value}"`;
      const each: Entry = ["for_each", raw(setOf(valuesOf(one)))];
      return one.principal === ""
        ? block(`resource "google_project_iam_member" "windlass_${one.label}"`, [
            each,
            "",
            "Without a service account, roles are granted to the jobs themselves.",
            ["project", project],
            ["role", "roles/viewer"],
            ["member", raw(member)],
          ])
        : block(`resource "google_service_account_iam_member" "windlass_${one.label}"`, [
            each,
            "",
            ["service_account_id", `projects/-/serviceAccounts/${one.principal}`],
            ["role", "roles/iam.workloadIdentityUser"],
            ["member", raw(member)],
          ]);
    }),
  ];
}

function vault(of: TrustOf, acting: readonly Acting[]): string[] {
  const { issuer, audience, fields, own, space_id } = of;
  const at = text(fields["namespace"]);
  const namespace = when(at !== "", ["namespace", at]);
  const { claim, ids } = idsOf(of);
  return [
    block('resource "vault_jwt_auth_backend" "windlass"', [
      ...namespace,
      ["path", text(fields["mount"])],
      ["oidc_discovery_url", issuer],
      ["bound_issuer", issuer],
    ]),
    ...acting.map((one) => {
      const subjects = own ? subjectsOf(of, one.phases) : [];
      const isExact = subjects.length === 1;
      const isSplit = !isExact && subjects.some((text) => text.includes(","));
      const others = own ? { sub: subjects.join(",") } : { [claim]: orNothing(ids).join(",") };
      return block(`resource "vault_jwt_auth_backend_role" "windlass_${one.label}"`, [
        ...namespace,
        ["backend", raw("vault_jwt_auth_backend.windlass.path")],
        ["role_name", one.principal],
        ["role_type", "jwt"],
        ["user_claim", "configuration_id"],
        ["bound_audiences", [audience]],
        ...when(isExact, ["bound_subject", subjects.join()]),
        "",
        "All claims of the token may be bound. For example, only what ada has approved:",
        '  approved_by = "ada@example.com"',
        ...when(
          isSplit,
          "WARNING: The provider of Vault splits this at commas: rename the identity, or give it a role for plans.",
        ),
        ["bound_claims", { space_id, ...(isExact ? {} : others), phase: one.phases.join(",") }],
        "",
        ["token_policies", [`windlass-${one.label}`]],
        ["token_ttl", raw("900")],
        ["token_max_ttl", raw("7200")],
      ]);
    }),
  ];
}
