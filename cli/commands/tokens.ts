/** `windlass tokens`: registration tokens for new runners. */
import { registrationSecondsLimit, registrationUsesLimit } from "../../protocol/limits.ts";
import { counted, examples, noun, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { print } from "../terminal/output.ts";
import { ago, time } from "../terminal/times.ts";

const minutesLimit = registrationSecondsLimit / 60;

interface CreateOptions {
  readonly uses: string;
  readonly expires: string;
  readonly ephemeral?: true;
  readonly quiet?: true;
}

/** Builds the command. */
export function tokensCommand() {
  const tokens = noun("tokens", "registration tokens, with which new runners register themselves");
  const create = tokens
    .command("create")
    .description("create a registration token; it is shown only once")
    .addOption(
      counted(
        "--uses <count>",
        `the number of runners it can register, at most ${registrationUsesLimit}`,
        "1",
      ),
    )
    .addOption(
      counted(
        "--expires <minutes>",
        `how long it is valid, at most ${minutesLimit} (30 days)`,
        "60",
      ),
    )
    .option("--ephemeral", "its runners are removed when they stop, such as those of one job")
    .option("-q, --quiet", "print only the token, for a script")
    .action(
      action(async (run: Run, options: CreateOptions) => {
        const { parseCount } = await import("../api/pages.ts");
        const token = await run.api.call("createRegistrationToken", {
          body: {
            ...(options.ephemeral ? { ephemeral: true } : {}),
            uses: parseCount("--uses", options.uses, registrationUsesLimit),
            expires_in_seconds: 60 * parseCount("--expires", options.expires, minutesLimit),
          },
        });
        if (options.quiet) return print(token.registration_token);
        run.show(token, {
          token: token.registration_token,
          id: token.id,
          expires: time(token.expires_at),
          uses: token.uses_left,
        });
        run.done(
          `\nTo install a runner as a service:\n  sudo windlass agent install --url ${run.api.server} --registration-token-file -\nTo run it in a container (docs/containers.md), with the token in a mounted file:\n  WINDLASS_URL=${run.api.server} WINDLASS_REGISTRATION_TOKEN_FILE=/run/secrets/token windlass agent`,
        );
      }),
    );
  examples(create, [
    ["windlass tokens create --uses 10 --expires 1440", "for ten runners, valid for a day"],
    ["windlass tokens create --quiet", "for a script"],
  ]);
  tokens
    .command("list")
    .description("list the registration tokens that can still be used; the tokens are not shown")
    .action(
      action(async ({ api, list }) => {
        const { registration_tokens } = await api.call("listRegistrationTokens");
        list(
          registration_tokens,
          {
            USES: ({ uses_left }) => uses_left,
            CREATED: ({ created_at }) => ago(created_at),
            EPHEMERAL: ({ ephemeral }) => (ephemeral ? "yes" : "no"),
            EXPIRES: ({ expires_at }) => time(expires_at),
            ID: ({ id }) => id,
          },
          "There are no registration tokens that can be used.",
        );
      }),
    );
  tokens
    .command("revoke")
    .description("revoke a registration token; the runners that used it stay registered")
    .argument("<id>", "id of the token, as tokens list prints it, or the beginning of it")
    .action(
      action(async (run: Run, named: string) => {
        const { findIn } = await import("../teams/elsewhere.ts");
        const { id } = await findIn(
          run.api,
          "registration token",
          "tokens",
          async (api) => (await api.call("listRegistrationTokens")).registration_tokens,
          named,
        );
        await run.api.call("revokeRegistrationToken", { params: { id } });
        run.done("The registration token is revoked.");
      }),
    );
  verbExamples(tokens, {
    list: ["", "find tokens that are still open"],
    revoke: ["7f3a5c0e9d2b4186", "it can register no more runners"],
  });
  return tokens;
}
