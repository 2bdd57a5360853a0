/** `windlass access-tokens`: credentials of pipelines. */
import { accessTokenDaysDefault, accessTokenDaysLimit } from "../../protocol/limits.ts";
import { counted, examples, noun, repeated, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { RoleOptions } from "../teams/zone-roles.ts";
import { roleOption, rolesHelp, zoneOption } from "./roles.ts";
import { ago, time } from "../terminal/times.ts";

interface CreateOptions extends RoleOptions {
  readonly days: string;
  readonly configuration?: readonly string[] | undefined;
}

export function accessTokensCommand() {
  const tokens = noun("access-tokens", "access tokens, with which pipelines use Windlass");
  const create = tokens
    .command("create")
    .description("create an access token for a pipeline; it is shown only once")
    .argument("<name>", "a name that says where it is used")
    .addOption(roleOption("what it may do in the whole space"))
    .addOption(zoneOption())
    .addOption(repeated("--configuration <configuration>", "only for this one; repeat it for each"))
    .addOption(
      counted(
        "--days <count>",
        `how long it is valid, at most ${accessTokenDaysLimit}`,
        String(accessTokenDaysDefault),
      ),
    )
    .addHelpText("after", rolesHelp)
    .action(
      action(async (run: Run, name: string, { days, configuration, ...roles }: CreateOptions) => {
        const { parseCount } = await import("../api/pages.ts");
        const expires_in_days = parseCount("--days", days, accessTokenDaysLimit);
        const { givenRoles, zoneNames } = await import("../teams/zone-roles.ts");
        const { configurationOf } = await import("../configurations/find.ts");
        const only = await Promise.all(
          (configuration ?? []).map(async (named) => (await configurationOf(run.api, named)).id),
        );
        const body = {
          name,
          ...(await givenRoles(run.api, roles)),
          ...(only.length > 0 ? { configurations: only } : {}),
          expires_in_days,
        };
        const token = await run.api.call("createAccessToken", { body });
        run.show(token, {
          token: token.access_token,
          name: token.name,
          role: (await zoneNames(run.api, [token]))(token),
          ...(only.length > 0 ? { "only for": configuration?.join(", ") } : {}),
          expires: time(token.expires_at),
          id: token.id,
        });
        run.done(
          `\nThe token is not shown again. Store it as a secret of your pipeline, and set these variables there:\n  WINDLASS_URL=${run.api.server}\n  WINDLASS_TOKEN=<the token>\nExamples for GitHub Actions, GitLab CI and Bitbucket Pipelines: docs/pipelines.md`,
        );
      }),
    );
  examples(create, [
    ["windlass access-tokens create github-actions --role deployer", "for a pipeline that deploys"],
    ["windlass access-tokens create drift --role planner --days 365", "for a nightly check"],
    ["windlass access-tokens create ci --zone staging=deployer", "only in one zone"],
  ]);
  tokens
    .command("list")
    .description("list access tokens with their last use, newest first; the tokens are not shown")
    .action(
      action(async ({ api, list, json }) => {
        const { access_tokens } = await api.call("listAccessTokens");
        const { zoneNames } = await import("../teams/zone-roles.ts");
        const words = await zoneNames(api, json ? [] : access_tokens);
        list(
          access_tokens,
          {
            NAME: ({ name }) => name,
            ROLE: (token) =>
              `${words(token)}${token.configurations === null ? "" : `, only ${token.configurations.length} configurations`}`,
            TOKEN: ({ prefix }) => `${prefix}…`,
            EXPIRES: ({ expires_at }) =>
              Date.parse(expires_at) > Date.now() ? time(expires_at) : "expired",
            USED: ({ last_used_at }) => (last_used_at === null ? "never" : ago(last_used_at)),
            FROM: ({ last_used_from }) => last_used_from,
            "CREATED BY": ({ created_by }) => created_by,
            ID: ({ id }) => id,
          },
          "There are no access tokens.",
        );
      }),
    );
  tokens
    .command("revoke")
    .description("revoke an access token: it stops working at once")
    .argument("<token>", "name or id of the token")
    .action(
      action(async (run: Run, wanted: string) => {
        const { findIn } = await import("../teams/elsewhere.ts");
        const { id, name } = await findIn(
          run.api,
          "access token",
          "access-tokens",
          async (api) => (await api.call("listAccessTokens")).access_tokens,
          wanted,
          ({ name: named, prefix, role }) => `${named}, ${role ?? "in zones"}, ${prefix}…`,
        );
        await run.api.call("revokeAccessToken", { params: { id } });
        run.done(`The access token "${name}" is revoked.`);
      }),
    );
  verbExamples(tokens, {
    list: ["", "find tokens that are not used"],
    revoke: ["github-actions", "the pipeline needs a new one"],
  });
  return tokens;
}
