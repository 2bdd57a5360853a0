/** `windlass identities`: cloud identities, what jobs act as in a cloud or at Vault. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { subjectForms } from "../../protocol/identity-kinds.ts";
import type { CreateOptions, UpdateOptions } from "../identities/verbs.ts";
import { examples, noun, oneOf, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";

const verbs = () => import("../identities/verbs.ts");

export function identitiesCommand() {
  const identities = noun(
    "identities",
    "cloud identities: what jobs act as in a cloud or at Vault, without a stored key",
  );
  const named = (name: string, description: string) =>
    identities
      .command(name)
      .description(description)
      .argument("<name>", "name or id of the identity");
  identities
    .command("list")
    .description("list your cloud identities")
    .action(
      action(async (run: Run) => {
        const { list, listAll } = await verbs();
        list(run, await listAll(run.api));
      }),
    );
  named("show", "show a cloud identity").action(
    action(async (run: Run, name: string) => {
      const { identityOf, show } = await verbs();
      show(run, await identityOf(run, name));
    }),
  );
  const create = identities
    .command("create")
    .description("create a cloud identity")
    .argument("<name>", "1 to 100 characters")
    .addOption(
      oneOf("--provider <provider>", "what the jobs sign in to, and how", [
        "aws",
        "aws-web-identity",
        "azure",
        "gcp",
        "vault",
      ]).default("aws" as const),
    );
  addFields(create);
  create.action(
    action(async (run: Run, name: string, options: object) =>
      (await verbs()).create(run, name, options as CreateOptions),
    ),
  );
  examples(create, [
    [
      "windlass identities create live --role arn:aws:iam::123456789012:role/deploy",
      "a role that runners assume as themselves",
    ],
    [
      "windlass identities create live --provider aws-web-identity --role ARN",
      "a role that trusts the tokens of this server",
    ],
    ["windlass identities create kv --provider vault --address URL --role tf", "Vault or OpenBao"],
  ]);
  const update = named("update", "change an identity; its provider and its external id stay");
  addFields(update);
  update
    .option("--no-session-tags", "send no session tags to AWS")
    .option("--rename <name>", "the new name")
    .action(
      action(async (run: Run, name: string, options: object) =>
        (await verbs()).update(run, name, options as UpdateOptions),
      ),
    );
  named("delete", "delete a cloud identity that no configuration uses")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) =>
        (await verbs()).remove(run, name, options),
      ),
    );
  examples(
    named(
      "trust-policy",
      "print what lets the cloud trust the identity: terraform, or for aws the policy of the role as JSON",
    )
      .option("--principal <arn>", "aws: the account, user or role that your runners run as")
      .action(
        action(async (run: Run, name: string, options: { principal?: string | undefined }) =>
          (await verbs()).trustPolicy(run, name, options),
        ),
      ),
    [
      ["windlass identities trust-policy live > trust.tf", "terraform for the cloud"],
      [
        "windlass identities trust-policy production --principal $RUNNERS_ROLE_ARN",
        "aws: for runners that run as that role",
      ],
    ],
  );
  verbExamples(identities, {
    list: ["--json", "for scripts"],
    show: ["production", "with all that its provider has"],
    update: ["production --rename live", "change its name"],
    delete: ["production", "asks for confirmation"],
  });
  return identities;
}

function addFields(command: CommandUnknownOpts): void {
  command
    .option("--role <role>", "aws, aws-web-identity: the ARN of the role; vault: its role")
    .option("--plan-role <role>", "the role of every PLAN: one that can only read. Empty: none")
    .option("--service-account <address>", "gcp: the service account that jobs act as")
    .option("--plan-service-account <address>", "gcp: that of every PLAN")
    .option("--workload-identity-provider <path>", "gcp: projects/N/locations/global/…")
    .option("--tenant-id <id>", "azure: the directory")
    .option("--client-id <id>", "azure: the application that jobs sign in as")
    .option("--plan-client-id <id>", "azure: that of every PLAN")
    .option("--subscription-id <id>", "azure: the subscription that jobs work in")
    .option("--address <url>", "vault: where it is, as the runners reach it")
    .option("--mount <path>", "vault: where the JWT auth method is (default: jwt)")
    .option("--namespace <path>", "vault: the namespace")
    .option("--ca <file>", "vault: the authorities of its certificate, in PEM")
    .option("--audience <audience>", "of the tokens, if not the usual one of the provider")
    .addOption(
      oneOf(
        "--subject <subject>",
        "what the subject of the tokens names (default: configuration)",
        subjectForms,
      ),
    )
    .option("--session-tags", "aws-web-identity: send session tags to AWS");
}
