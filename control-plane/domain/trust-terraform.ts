/**
 * The terraform with which a cloud or Vault trusts the tokens of one identity. It is a start, to be
 * read and changed: what it creates may exist already.
 */
import { principalFields, type IssuedProvider } from "../../protocol/identity-kinds.ts";
import type { TokenPhase } from "../../protocol/identity-tokens.ts";
import { block, quoted, raw, type Entry } from "./hcl.ts";

/** What a configuration with the identity is trusted by. */
export interface Trusted {
  readonly configuration_id: string;
  readonly zone_id: string;
  /** The subjects of both phases. */
  readonly subjects: Readonly<Record<TokenPhase, string>>;
}

export interface TrustOf {
  readonly name: string;
  readonly provider: IssuedProvider;
  readonly space_id: string;
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
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

function headOf({ name, issuer, trusted, isCut }: TrustOf): string {
  const lines = [
    `Trust of the cloud identity ${quoted(name)} in tokens of ${issuer}`,
    ...(trusted.length > 0
      ? []
      : ["No configuration uses the identity yet: attach it, then print this again."]),
    ...(isCut
      ? [`More configurations use it than the ${trusted.length} below: add the others.`]
      : []),
  ];
  return lines.map((line) => `# ${line}`).join("\n");
}

const subjectsOf = ({ trusted }: TrustOf, { phases }: Acting): string[] => [
  ...new Set(trusted.flatMap(({ subjects }) => phases.map((phase) => subjects[phase]))),
];

/** The ids that tokens are trusted by, and the claim that has them. */
function idsOf({ subject, space_id, trusted }: TrustOf): {
  readonly claim: "configuration_id" | "zone_id" | "space_id";
  readonly ids: string[];
} {
  if (subject === "identity") return { claim: "space_id", ids: [space_id] };
  const claim = subject === "zone" ? "zone_id" : "configuration_id";
  return { claim, ids: [...new Set(trusted.map((one) => one[claim]))] };
}

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
    `# AWS checks the subject and the audience, and no other claim. One provider serves all roles of\n# an account.\n${block(
      'resource "aws_iam_openid_connect_provider" "windlass"',
      [
        ["url", issuer],
        ["client_id_list", [audience]],
      ],
    )}`,
    ...acting.flatMap((one) => {
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
              is("sub", subjectsOf(of, one)),
            ],
          },
        ]),
        block(`resource "aws_iam_role" "windlass_${one.label}"`, [
          ["name", name],
          ...(path === "/" ? [] : [["path", path] as const]),
          ["assume_role_policy", raw(`data.aws_iam_policy_document.windlass_${one.label}.json`)],
        ]),
      ];
    }),
  ];
}

function azure(of: TrustOf, acting: readonly Acting[]): string[] {
  const { issuer, audience } = of;
  const head =
    "# Azure checks the issuer, the subject and the audience, and no other claim. Subjects are exact.";
  const credentials = acting.flatMap((one) => {
    const subjects = subjectsOf(of, one);
    const type = "azuread_application_federated_identity_credential";
    return [
      block(`data "azuread_application" "windlass_${one.label}"`, [["client_id", one.principal]]),
      block(`resource "${type}" "windlass_${one.label}"`, [
        ...(subjects.length > azureSubjects
          ? [
              `Azure takes ${azureSubjects} of them: choose an identity whose subject is the zone or the identity.`,
            ]
          : []),
        ["for_each", raw(setOf(subjects))],
        "",
        ["application_id", raw(`data.azuread_application.windlass_${one.label}.id`)],
        ["display_name", raw(String.raw`"windlass-${"${substr(sha256(each.value), 0, 16)}"}"`)],
        ["issuer", issuer],
        ["audiences", [audience]],
        ["subject", raw("each.value")],
      ]),
    ];
  });
  return [`${head}\n${credentials[0]}`, ...credentials.slice(1)];
}

/** Each on a line of its own, as a set for `for_each`. */
const setOf = (values: readonly string[]): string =>
  values.length <= 1
    ? `toset([${values.map(quoted).join("")}])`
    : `toset([\n${values.map((one) => `    ${quoted(one)},\n`).join("")}  ])`;

function gcp(of: TrustOf, acting: readonly Acting[]): string[] {
  const { issuer, audience, space_id, subject, fields } = of;
  const path = text(fields["workload_identity_provider"]);
  const [, project = "", pool = "", name = ""] =
    /^projects\/(\d+)\/.*\/workloadIdentityPools\/([^/]+)\/providers\/([^/]+)$/.exec(path) ?? [];
  const isDefault = audience === `//iam.googleapis.com/${path}`;
  const poolName = "google_iam_workload_identity_pool.windlass";
  const { claim, ids } = idsOf(of);
  const subjects = [...new Set(acting.flatMap((one) => subjectsOf(of, one)))];
  const condition = [
    `assertion.space_id == ${JSON.stringify(space_id)}`,
    ...(subject === "identity" && subjects.length > 0
      ? [`assertion.sub in [${subjects.map((one) => JSON.stringify(one)).join(", ")}]`]
      : []),
  ].join(" && ");
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
          "attribute.zone_phase": "assertion.zone_id + ':' + assertion.phase",
          "attribute.space_phase": "assertion.space_id + ':' + assertion.phase",
        },
      ],
      "",
      "Conditions may use every claim of the token. For example, only what ada has approved:",
      '  && (assertion.phase == "plan" || "ada@example.com" in assertion.approved_by)',
      ["attribute_condition", condition],
      "",
      {
        block: "oidc",
        entries: [
          ["issuer_uri", issuer],
          ...(isDefault ? [] : [["allowed_audiences", [audience]] as const]),
        ],
      },
    ]),
    ...acting.map((one) => {
      const values = ids.flatMap((id) => one.phases.map((phase) => `${id}:${phase}`));
      const member =
        claim === "configuration_id"
          ? `"principal://iam.googleapis.com/\${${poolName}.name}/subject/\${each.value}"`
          : `"principalSet://iam.googleapis.com/\${${poolName}.name}/attribute.${claim.replace("_id", "_phase")}/\${each.value}"`;
      const each: Entry = ["for_each", raw(setOf(values))];
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
  const { issuer, audience, fields, subject, space_id } = of;
  const namespace: Entry[] =
    text(fields["namespace"]) === "" ? [] : [["namespace", text(fields["namespace"])]];
  const { claim, ids } = idsOf(of);
  return [
    block('resource "vault_jwt_auth_backend" "windlass"', [
      ...namespace,
      ["path", text(fields["mount"])],
      ["oidc_discovery_url", issuer],
      ["bound_issuer", issuer],
    ]),
    ...acting.map((one) => {
      const [sub] = subjectsOf(of, one);
      const isExact = subject === "identity" && one.phases.length === 1 && sub !== undefined;
      return block(`resource "vault_jwt_auth_backend_role" "windlass_${one.label}"`, [
        ...namespace,
        ["backend", raw("vault_jwt_auth_backend.windlass.path")],
        ["role_name", one.principal],
        ["role_type", "jwt"],
        ["user_claim", "configuration_id"],
        ["bound_audiences", [audience]],
        ...(isExact ? [["bound_subject", sub] as const] : []),
        "",
        "All claims of the token may be bound. For example, only what ada has approved:",
        '  approved_by = "ada@example.com"',
        [
          "bound_claims",
          {
            space_id,
            ...(claim === "space_id" ? {} : { [claim]: ids.join(",") }),
            phase: one.phases.join(","),
          },
        ],
        "",
        ["token_policies", [`windlass-${one.label}`]],
        ["token_ttl", raw("900")],
        ["token_max_ttl", raw("7200")],
      ]);
    }),
  ];
}
