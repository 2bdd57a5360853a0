/** `windlass identities`: cloud identities, the roles that jobs assume in a cloud account. */
import { Option } from "commander";
import type { CloudIdentity } from "../../protocol/cloud-identities.ts";
import type { Api } from "../api/api.ts";
import { teamWords } from "../api/team.ts";
import { examples, noun, yes, verbExamples } from "../noun.ts";
import { shellWord } from "../../common/shell-word.ts";
import { action, type Run } from "../run.ts";
import { time } from "../terminal/times.ts";

export function identitiesCommand() {
  const identities = noun(
    "identities",
    "cloud identities: the roles that jobs assume in your cloud account",
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
      action(async ({ api, list }) => {
        const { cloud_identities } = await api.call("listCloudIdentities");
        list(
          cloud_identities,
          {
            NAME: ({ name }) => name,
            PROVIDER: ({ provider }) => provider,
            ROLE: ({ role_arn }) => role_arn,
            ID: ({ id }) => id,
          },
          `There are no cloud identities yet. To create one: windlass identities create NAME --role ARN${teamWords(api.team)}`,
        );
      }),
    );
  named("show", "show a cloud identity").action(
    action(async (run: Run, name: string) => show(run, await identityOf(run, name))),
  );
  examples(
    identities
      .command("create")
      .description("create a cloud identity; the server generates its external id")
      .argument("<name>", "1 to 100 characters")
      .requiredOption("--role <arn>", "the role that jobs assume")
      .addOption(planRole())
      .action(
        action(
          async (run: Run, name: string, { role, planRole: plan }: Roles & { role: string }) => {
            const body = { name, provider: "aws" as const, role_arn: role, ...planRoleIn(plan) };
            show(run, await run.api.call("createCloudIdentity", { body }));
            run.done(
              `The role must trust your runners. For the policy: windlass identities trust-policy ${shellWord(name)} --help`,
            );
          },
        ),
      ),
    [
      [
        "windlass identities create live --role arn:aws:iam::123456789012:role/deploy",
        "create one",
      ],
    ],
  );
  named("update", "change the name or role of an identity; its external id stays")
    .option("--role <arn>", "the role that jobs assume")
    .addOption(planRole())
    .option("--rename <name>", "the new name")
    .action(
      action(
        async (run: Run, name: string, options: Roles & { role?: string; rename?: string }) => {
          const body = {
            ...planRoleIn(options.planRole),
            ...(options.role === undefined ? {} : { role_arn: options.role }),
            ...(options.rename === undefined ? {} : { name: options.rename }),
          };
          if (Object.keys(body).length === 0) {
            const { CliError } = await import("../terminal/output.ts");
            throw new CliError("Nothing to change. For help: windlass identities update --help", 2);
          }
          const { id } = await identityOf(run, name);
          show(run, await run.api.call("updateCloudIdentity", { params: { id }, body }));
        },
      ),
    );
  named("delete", "delete a cloud identity that no configuration uses")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) => {
        const { id, name: found } = await identityOf(run, name);
        const { confirm } = await import("../terminal/ask.ts");
        await confirm(`Delete the cloud identity "${found}"?`, options);
        await run.api.call("deleteCloudIdentity", { params: { id } });
        run.done(`The cloud identity "${found}" is deleted.`);
      }),
    );
  examples(
    named("trust-policy", "print the trust policy for the role, as JSON")
      .requiredOption("--principal <arn>", "the AWS account, user or role that your runners run as")
      .action(
        action(async (run: Run, name: string, { principal }: { principal: string }) => {
          const { id } = await identityOf(run, name);
          const policy = await run.api.call("getTrustPolicy", {
            params: { id },
            query: { principal },
          });
          const { print } = await import("../terminal/output.ts");
          print(JSON.stringify(policy, null, 2));
        }),
      ),
    [
      [
        "windlass identities trust-policy production --principal $RUNNERS_ROLE_ARN",
        "for runners that run as that role",
      ],
    ],
  );
  verbExamples(identities, {
    list: ["--json", "for scripts"],
    show: ["production", "with its external id"],
    update: ["production --rename live", "change its name"],
    delete: ["production", "asks for confirmation"],
  });
  return identities;
}

interface Roles {
  readonly planRole?: string | undefined;
}

const planRole = () =>
  new Option(
    "--plan-role <arn>",
    "the role that every PLAN assumes, with the same external id: one that can only read. Empty: none",
  );

const planRoleIn = (role: string | undefined): { plan_role_arn?: string | null } =>
  role === undefined ? {} : { plan_role_arn: role === "" ? null : role };

/** Returns a cloud identity by name or id. Throws `CliError` if there is none. */
async function identityOf({ api }: Run, name: string): Promise<CloudIdentity> {
  const { findIn } = await import("../teams/elsewhere.ts");
  return findIn(api, "identity", "identities", listAll, name);
}

const listAll = async (api: Api) => (await api.call("listCloudIdentities")).cloud_identities;

function show(run: Run, it: CloudIdentity): void {
  run.show(it, {
    name: it.name,
    id: it.id,
    provider: it.provider,
    role: it.role_arn,
    "role of plans": it.plan_role_arn,
    "external id": it.external_id,
    created: time(it.created_at),
  });
}
