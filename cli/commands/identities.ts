/** `windlass identities`: the roles that jobs take on in a cloud account. */
import type { CloudIdentity } from "../../protocol/cloud-identities.ts";
import { examples, noun, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { time } from "../terminal/times.ts";

/** The command with its verbs. */
export function identitiesCommand() {
  const identities = noun(
    "identities",
    "cloud identities: the roles that jobs take on in your account",
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
        const answer = await api.call("listCloudIdentities");
        list(
          answer.cloud_identities,
          {
            NAME: ({ name }) => name,
            PROVIDER: ({ provider }) => provider,
            ROLE: ({ role_arn }) => role_arn,
            ID: ({ id }) => id,
          },
          "There are no cloud identities yet. Make one: windlass identities create NAME --role ARN",
        );
      }),
    );
  named("show", "show a cloud identity").action(
    action(async (run: Run, name: string) => show(run, await identityOf(run, name))),
  );
  examples(
    identities
      .command("create")
      .description("make a cloud identity; the server makes its external id")
      .argument("<name>", "1 to 100 characters")
      .requiredOption("--role <arn>", "the role that jobs take on")
      .action(
        action(async (run: Run, name: string, { role }: { role: string }) => {
          const body = { name, provider: "aws" as const, role_arn: role };
          show(run, await run.api.call("createCloudIdentity", { body }));
          run.done(
            `Its role must trust your runners: windlass identities trust-policy ${name} --help`,
          );
        }),
      ),
    [["windlass identities create live --role arn:aws:iam::123456789012:role/deploy", "make one"]],
  );
  named("update", "change its name or role; the external id stays")
    .option("--role <arn>", "the role that jobs take on")
    .option("--rename <name>", "its new name")
    .action(
      action(async (run: Run, name: string, options: { role?: string; rename?: string }) => {
        const { id } = await identityOf(run, name);
        const body = {
          ...(options.role === undefined ? {} : { role_arn: options.role }),
          ...(options.rename === undefined ? {} : { name: options.rename }),
        };
        show(run, await run.api.call("updateCloudIdentity", { params: { id }, body }));
      }),
    );
  named("delete", "delete a cloud identity that nothing uses")
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
    named("trust-policy", "print the policy to give the role, as JSON to paste")
      .requiredOption(
        "--principal <arn>",
        "the account, user or role under which your runners work",
      )
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
        "for runners that work as that role",
      ],
    ],
  );
  verbExamples(identities, {
    list: ["--json", "for programs"],
    show: ["production", "with its external id"],
    update: ["production --rename live", "another name"],
    delete: ["production", "asks first"],
  });
  return identities;
}

/** A cloud identity by name or id. Throws `Failure` when there is none. */
async function identityOf({ api }: Run, name: string): Promise<CloudIdentity> {
  const { find } = await import("../api/find.ts");
  const { cloud_identities } = await api.call("listCloudIdentities");
  return find("identity", "identities", cloud_identities, name);
}

function show(run: Run, it: CloudIdentity): void {
  run.show(it, {
    name: it.name,
    id: it.id,
    provider: it.provider,
    role: it.role_arn,
    "external id": it.external_id,
    created: time(it.created_at),
  });
}
