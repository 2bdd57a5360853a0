/** `windlass schedules`: jobs that are queued at times of the clock. */
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { comingTimeHelp, examples, noun, oneOf, verbExamples, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import type { CreateOptions, ListOptions, UpdateOptions } from "../schedules/verbs.ts";

const verbs = () => import("../schedules/verbs.ts");
const kinds = ["drift", "plan", "deploy", "destroy"] as const;

export function schedulesCommand() {
  const schedules = noun(
    "schedules",
    "checks for drift, plans, deployments and destructions at times of the clock",
  );
  const named = (name: string, description: string) =>
    schedules
      .command(name)
      .description(description)
      .argument("<name>", "name or id of the schedule");
  schedules
    .command("list")
    .description("list your schedules, when they come next, and what they did last")
    .option("--zone <zone>", "only those of this zone")
    .option("--configuration <configuration>", "only those that run it: its own and its zone's")
    .action(
      action(async (run: Run, options: ListOptions) => {
        const { list, listSome } = await verbs();
        await list(run, await listSome(run.api, options));
      }),
    );
  named("show", "show a schedule, when it comes next, and what it did last").action(
    action(async (run: Run, name: string) => {
      const { scheduleOf, show } = await verbs();
      await show(run, await scheduleOf(run, name));
    }),
  );
  const create = schedules
    .command("create")
    .description("queue jobs of a configuration, or of each configuration of a zone, regularly")
    .argument("<name>", "1 to 100 characters")
    .addOption(
      oneOf(
        "--kind <kind>",
        "what its jobs do; deploy and destroy wait for the approvals that a rule asks for",
        kinds,
      ).makeOptionMandatory(),
    );
  addFields(create, "default: that of this machine");
  create.option("--disable", "do not begin yet");
  create.action(
    action(async (run: Run, name: string, options: CreateOptions) =>
      (await verbs()).create(run, name, options),
    ),
  );
  examples(create, [
    [
      'windlass schedules create nightly --kind drift --zone lab --cron "0 2 * * *"',
      "checks each configuration of the zone at 02:00",
    ],
    [
      'windlass schedules create up --kind deploy --zone lab --cron "0 7 * * 1-5"',
      "what is there while people work",
    ],
    [
      'windlass schedules create down --kind destroy --zone lab --cron "0 19 * * 1-5"',
      "and is not at night",
    ],
  ]);
  const update = named("update", "change a schedule; what waits for its minute is dropped");
  update.addOption(oneOf("--kind <kind>", "what its jobs do", kinds));
  addFields(update);
  update
    .option("--enable", "let it come again")
    .option("--disable", "queue nothing until it is enabled")
    .option("--rename <name>", "the new name")
    .action(
      action(async (run: Run, name: string, options: UpdateOptions) =>
        (await verbs()).update(run, name, options),
      ),
    );
  named("delete", "delete a schedule; its jobs stay")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: { yes?: true | undefined }) =>
        (await verbs()).remove(run, name, options),
      ),
    );
  named("run", "queue its jobs now; exits with 1 if nothing was queued").action(
    action(async (run: Run, name: string) => (await verbs()).runNow(run, name)),
  );
  verbExamples(schedules, {
    list: ["--zone production", "those of a zone"],
    show: ["nightly", "when it comes next"],
    update: ["nightly --disable", "until it is enabled again"],
    delete: ["nightly", "asks for confirmation"],
    run: ["nightly", "before its time"],
  });
  return examples(schedules, [
    [
      'windlass schedules create nightly --kind drift --zone lab --cron "0 2 * * *"',
      "checks each configuration of the zone at 02:00",
    ],
    ["windlass schedules list", "what comes next, and what was skipped"],
  ]);
}

function addFields(command: CommandUnknownOpts, timezone = "such as Europe/Berlin"): void {
  command
    .option("--configuration <configuration>", "the configuration that it runs, or a --zone")
    .option("--zone <zone>", "the zone, each of whose configurations it runs")
    .option(
      "--cron <expression>",
      'minute, hour, day of the month, month, day of the week: "30 6 * * 1-5"',
    )
    .option(
      "--timezone <name>",
      `the time zone of the clock, a name of the IANA database; ${timezone}`,
    )
    .option("--window <minutes>", "spread the jobs over so many minutes, up to 1440")
    .option("--starts <time>", `the time before which it does not come, ${comingTimeHelp}; or none`)
    .option("--ends <time>", "the time after which it does not come; or none");
}
