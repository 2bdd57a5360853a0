/** `windlass notifications`: which events go to which webhook, channel or mailbox. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { happenings } from "../../protocol/happenings.ts";
import { styled } from "../terminal/output.ts";
import { counted, examples, limit, noun, oneOf, repeated, verbExamples, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { CreateOptions, DeliveryOptions, UpdateOptions } from "../notifications/verbs.ts";

const verbs = () => import("../notifications/verbs.ts");

export function notificationsCommand() {
  const notifications = noun(
    "notifications",
    "rules that send events to a webhook, to Slack or Teams, or by e-mail",
  );
  const named = (name: string, description: string) =>
    notifications
      .command(name)
      .description(description)
      .argument("<name>", "name or id of the rule");
  notifications
    .command("list")
    .description("list your notification rules, and what is wrong with them")
    .action(
      action(async (run: Run) => {
        const { list, listAll } = await verbs();
        list(run, await listAll(run.api));
      }),
    );
  named("show", "show a rule; the address of a Slack or Teams channel is never shown").action(
    action(async (run: Run, name: string) => {
      const { ruleOf, show } = await verbs();
      show(run, await ruleOf(run, name));
    }),
  );
  const create = notifications
    .command("create")
    .description(
      "send events somewhere. Without --url, the address is asked for without echo, or read from stdin. Prints the secret of a webhook once",
    )
    .argument("<name>", "1 to 100 characters")
    .addOption(
      oneOf("--to <kind>", "where to", [
        "webhook",
        "slack",
        "teams",
        "email",
      ]).makeOptionMandatory(),
    )
    .option("--url <url>", "webhook: where to post; the addresses of slack and teams are secrets");
  addFields(create);
  create.action(
    action(async (run: Run, name: string, options: CreateOptions) =>
      (await verbs()).create(run, name, options),
    ),
  );
  create.addHelpText("after", `\n${styled("bold", "Events:")}\n${eventsHelp()}`);
  examples(create, [
    [
      'windlass notifications create ops --to webhook --url URL --event "job.*"',
      "prints the secret that verifies",
    ],
    ["windlass notifications create alerts --to slack --event job.failed", "asks for the address"],
    [
      "windlass notifications create mail --to email --address EMAIL --event deployed",
      "a member's verified address",
    ],
  ]);
  const update = named("update", "change a rule; its kind stays")
    .option("--url <url>", "webhook: the new address")
    .option("--ask-url", "replace the address: asked for without echo, or a line of stdin");
  addFields(update);
  update
    .option("--everywhere", "the events of the whole space again")
    .option("--enable", "send again, also after the receiver has said 410")
    .option("--disable", "send nothing until it is enabled")
    .option("--rename <name>", "the new name")
    .action(
      action(async (run: Run, name: string, options: UpdateOptions) =>
        (await verbs()).update(run, name, options),
      ),
    );
  named("delete", "delete a rule and its deliveries")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) =>
        (await verbs()).remove(run, name, options),
      ),
    );
  named(
    "test",
    "send a ping now, and show what came back; exits with 1 if it did not arrive",
  ).action(action(async (run: Run, name: string) => (await verbs()).test(run, name)));
  named("rotate-secret", "webhook: make a new signing secret, and print it once")
    .addOption(
      counted("--overlap <seconds>", "how long the old secret signs too, up to 7 days", "3600"),
    )
    .action(
      action(async (run: Run, name: string, options: { overlap: string }) =>
        (await verbs()).rotateSecret(run, name, options),
      ),
    );
  named("deliveries", "list what was sent, newest first")
    .addOption(oneOf("--status <status>", "only these", ["delivered", "retrying", "given-up"]))
    .option("--event <event>", "only this event")
    .addOption(limit("how many deliveries"))
    .action(
      action(async (run: Run, name: string, options: DeliveryOptions) =>
        (await verbs()).deliveries(run, name, options),
      ),
    );
  named("redeliver", "send the same event again, with the same webhook-id")
    .argument("<delivery>", "id of the delivery, or its beginning")
    .action(
      action(async (run: Run, name: string, delivery: string) =>
        (await verbs()).redeliver(run, name, delivery),
      ),
    );
  verbExamples(notifications, {
    list: ["", "which ones there are, and what is wrong"],
    show: ["ops", "its events and its last delivery"],
    update: ["ops --event approval.needed --event job.failed", "instead of its events"],
    delete: ["ops", "asks for confirmation"],
    test: ["ops", "whether the receiver answers"],
    "rotate-secret": ["ops --overlap 600", "ten minutes to change it at the receiver"],
    deliveries: ["ops --status given-up", "what did not arrive"],
    redeliver: ["ops 01890a5d-ac96", "once the receiver works again"],
  });
  return examples(notifications, [
    ["windlass notifications create alerts --to slack --event job.failed", "asks for the address"],
    ["windlass notifications test alerts", "sends a ping now"],
    ["windlass notifications deliveries alerts", "what was sent, and the answers"],
  ]);
}

/** Each event with what has happened then. */
function eventsHelp(): string {
  const all = { ...happenings, "audit.ACTION": "the audit log records it, such as team.update" };
  const width = Math.max(...Object.keys(all).map((name) => name.length));
  const lines = Object.entries(all).map(([name, when]) => `  ${name.padEnd(width)}  ${when}`);
  return lines.join("\n");
}

function addFields(command: CommandUnknownOpts): void {
  command
    .addOption(
      repeated("--event <event>", 'an event, or the beginning of names, such as "approval.*"'),
    )
    .addOption(repeated("--address <address>", "email: a verified address of a member"))
    .option("--zone <zone>", "only events of this zone")
    .option("--configuration <configuration>", "only events of this configuration")
    .option("--stalled <minutes>", "when queue.stalled tells of a waiting job (default: 15)");
}
