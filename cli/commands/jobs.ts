/** `windlass jobs`: plans, deployments and destructions. */
import { Option } from "@commander-js/extra-typings";
import {
  configurationHelp,
  examples,
  exitCodes,
  limit,
  timeHelp,
  noun,
  oneOf,
  repeated,
  yes,
} from "../noun.ts";
import { action, type Run } from "../run.ts";
import { countSignsText } from "../../protocol/words.ts";
import { debugOption } from "./value-options.ts";
import type {
  AskingOptions,
  CreateOptions,
  DeployOptions,
  PlanJobOptions,
} from "../jobs/create.ts";
import { labelOption, workerOption } from "./value-options.ts";
import type { DecideOptions } from "../jobs/approvals.ts";
import type { DebugLogOptions } from "../logs/debug-log.ts";
import type { LogsOptions } from "../logs/logs.ts";
import type { ListOptions, ShowOptions } from "../jobs/read.ts";

const create = () => import("../jobs/create.ts");
const read = () => import("../jobs/read.ts");
const approvals = () => import("../jobs/approvals.ts");
const comment = () => new Option("--comment <text>", "why, in up to 1,000 characters");
const wait = () =>
  new Option("--wait", "follow the job until it ends; exit with 0 if it succeeds, else with 1");

const jobHelp =
  "its id, or the beginning of it; NAME/- for the latest job of that configuration, - for that of this directory";

const deploymentHelp =
  "its id, or the beginning of it; NAME/- for the latest job of that configuration, if that is a deployment; - for that of this directory";

export function jobsCommand() {
  const jobs = noun("jobs", "plans, deployments and destructions: queued, running and ended");

  examples(
    jobs
      .command("plan")
      .description("plan a configuration: show what a deployment would change")
      .argument("<configuration>", configurationHelp)
      .option("--destroy", "plan to destroy what is deployed")
      .option("--refresh-only", "only update the state with what changed outside of terraform")
      .addOption(repeated("--target <address>", "plan only this resource or module; repeatable"))
      .addOption(repeated("--replace <address>", "replace this resource; repeatable"))
      .addOption(repeated("--exclude <address>", "with OpenTofu, plan all but this; repeatable"))
      .addOption(wait())
      .option(
        "--detailed-exitcode",
        "like --wait, but exit with 0 if there are no changes, 2 if there are changes, 1 if the job failed, 64 on wrong usage",
      )
      .addOption(workerOption())
      .addOption(labelOption())
      .addOption(debugOption())
      .action(
        action(async (run: Run, name: string, options: PlanJobOptions) =>
          (await create()).plan(run, name, options),
        ),
      ),
    [
      ["windlass jobs plan network --wait", "plan, and show what would change"],
      ["windlass jobs plan network --json | jq -r .id", "print the id of the job, for a script"],
      ["windlass jobs plan network --target module.dns --wait", "plan only one module"],
      ["windlass jobs plan network --detailed-exitcode", "check in a script for changes"],
    ],
  );
  examples(
    jobs
      .command("deploy")
      .description("deploy a configuration, or apply exactly one plan")
      .argument("[configuration]", `${configurationHelp}; not needed with --plan`)
      .option(
        "--plan <job>",
        "apply the plan of this job; - for the latest plan (default: plan and apply in one job)",
      )
      .addOption(wait())
      .addOption(workerOption())
      .addOption(labelOption())
      .addOption(debugOption())
      .action(
        action(async (run: Run, name: string | undefined, options: DeployOptions) =>
          (await create()).deploy(run, name, options),
        ),
      ),
    [
      ["windlass jobs deploy --plan 01890a5d-ac96 --wait", "apply exactly the reviewed plan"],
      ["windlass jobs deploy network --plan - --wait", "apply the latest plan of network"],
      ["windlass jobs deploy network --wait", "plan and apply in one job"],
    ],
  );
  const destroy = jobs
    .command("destroy")
    .description(
      "plan to destroy everything that a configuration has deployed, ask, then destroy it",
    )
    .argument("<configuration>", configurationHelp)
    .option(
      "-y, --yes",
      "do not ask; destroy in one job, or deploy the plan if the configuration requires approvals; needed without a terminal",
    )
    .addOption(wait())
    .addOption(workerOption())
    .addOption(labelOption())
    .addOption(debugOption())
    .action(
      action(async (run: Run, name: string, options: AskingOptions) =>
        (await create()).destroy(run, name, options),
      ),
    );
  exitCodes(destroy, {
    0: "queued; with --wait: destroyed, or nothing is deployed",
    1: "a job failed or was cancelled, or the server refused a request",
    2: "wrong usage, or neither a terminal nor --yes: nothing was planned",
    3: "the plan was made, but not confirmed: nothing is destroyed",
    130: "interrupted; a job that was queued continues",
  });
  examples(destroy, [["windlass jobs destroy preview-42 --yes --wait", "in a pipeline"]]);

  examples(
    jobs
      .command("destroy-worker")
      .description("destroy what a worker was deployed with, then remove the worker")
      .argument(
        "<worker>",
        "name or id of the worker to tear down; the runner of another worker does it",
      )
      .addOption(yes())
      .addOption(wait())
      .addOption(debugOption())
      .action(
        action(async (run: Run, name: string, options: AskingOptions) =>
          (await create()).destroyWorker(run, name, options),
        ),
      ),
    [["windlass jobs destroy-worker old-runner --wait", "drain, destroy, remove"]],
  );
  examples(
    jobs
      .command("list")
      .description("list jobs, newest first")
      .addOption(
        oneOf(
          "--status <status>",
          "only jobs with this status; running is processing, succeeded is success",
          ["queued", "processing", "running", "success", "succeeded", "failed", "cancelled"],
        ),
      )
      .addOption(
        oneOf("--type <type>", "only jobs of this type", [
          "plan",
          "deploy",
          "destroy",
          "destroy-worker",
        ]),
      )
      .option(
        "--configuration <name>",
        "only jobs of this configuration: its name or id; - for that of this directory",
      )
      .option(
        "--zone <name>",
        "only jobs in this zone: its name or id; those of a configuration that was moved since stay in the zone in which they ran",
      )
      .option("--mine", "only jobs that you created")
      .option("--waiting-for-me", "only deployments that wait for your approval")
      .option("--since <time>", `only those created at or after this time, ${timeHelp}`)
      .option("--until <time>", "only those created before this time")
      .addOption(limit("the number of jobs to list"))
      .addHelpText("after", `\nCHANGES: ${countSignsText}`)
      .action(action(async (run: Run, options: ListOptions) => (await read()).list(run, options))),
    [
      ["windlass jobs list --status failed --zone production", "failed jobs of a zone"],
      ["windlass jobs list --configuration network --type deploy", "who deployed it, and when"],
      ["windlass jobs list --waiting-for-me --team platform", "what you can approve"],
      ["windlass jobs list --since 24h --status failed", "what failed since yesterday"],
      ["windlass jobs list --limit 500 --json", "for scripts"],
    ],
  );
  examples(
    jobs
      .command("show")
      .description("show a job, its approvals, what its plan would change, and its outputs")
      .argument("<job>", jobHelp)
      .option("--plan", "show only the plan; with --json, its summary")
      .option("--markdown", "print the plan as Markdown, for a pull request")
      .action(
        action(async (run: Run, id: string, options: ShowOptions) =>
          (await read()).show(run, id, options),
        ),
      ),
    [
      ["windlass jobs show 01890a5d-ac96", "job, plan and outputs"],
      ["windlass jobs show network/-", "the latest job of network"],
      [
        "windlass jobs show 01890a5d-ac96 --plan --json | jq .plan_summary.counts",
        "count the changes",
      ],
      ["windlass jobs show 01890a5d-ac96 --markdown", "for a comment on a pull request"],
    ],
  );
  examples(
    jobs
      .command("logs")
      .description("print the log of a job")
      .argument("<job>", jobHelp)
      .option("-f, --follow", "print until the job ends; exit with 0 if it succeeds, else with 1")
      .action(
        action(async (run: Run, id: string, options: LogsOptions) =>
          (await import("../logs/logs.ts")).logs(run, id, options),
        ),
      ),
    [
      ["windlass jobs logs 01890a5d-ac96 --follow", "follow the live log"],
      ["windlass jobs logs -", "the latest job of the configuration of this directory"],
      ["windlass jobs logs network/- --json", "one chunk per line, as JSON"],
    ],
  );
  examples(
    jobs
      .command("debug-log")
      .description(
        "write the debug log of a job that was queued with --debug; it may contain secrets",
      )
      .argument("<job>", jobHelp)
      .option("--output <file>", "write it to this file, with mode 0600 (default: stdout)")
      .action(
        action(async (run: Run, id: string, options: DebugLogOptions) =>
          (await import("../logs/debug-log.ts")).debugLog(run, id, options),
        ),
      ),
    [
      ["windlass jobs plan network --debug --wait", "run a job that keeps one"],
      ["windlass jobs debug-log 01890a5d-ac96 --output debug.log", "then download it"],
    ],
  );
  examples(
    jobs
      .command("approve")
      .description("approve a deployment that the approval rule of its configuration covers")
      .argument("<job>", deploymentHelp)
      .addOption(comment())
      .action(
        action(async (run: Run, id: string, options: DecideOptions) =>
          (await approvals()).approve(run, id, options),
        ),
      ),
    [
      ["windlass jobs show 01890a5d-ac96", "first see what it would change"],
      ["windlass jobs approve 01890a5d-ac96 --comment 'only the bastion changes'", "then approve"],
    ],
  );
  examples(
    jobs
      .command("reject")
      .description("reject a deployment that waits for approvals, which cancels it")
      .argument("<job>", deploymentHelp)
      .addOption(comment())
      .action(
        action(async (run: Run, id: string, options: DecideOptions) =>
          (await approvals()).reject(run, id, options),
        ),
      ),
    [["windlass jobs reject 01890a5d-ac96 --comment 'not on a Friday'", "say why"]],
  );
  examples(
    jobs
      .command("cancel")
      .description("cancel a queued or running job; terraform stops cleanly and unlocks the state")
      .argument("<job>", jobHelp)
      .option("--wait", "wait until the runner has stopped terraform; exit with 0")
      .action(
        action(async (run: Run, id: string, options: CreateOptions) =>
          (await create()).cancel(run, id, options),
        ),
      ),
    [["windlass jobs cancel 01890a5d-ac96 --wait", "wait until it has stopped"]],
  );
  examples(
    jobs
      .command("retry")
      .description("queue a new job with the request of a failed or cancelled one")
      .argument("<job>", jobHelp)
      .addOption(yes("for a destruction: "))
      .addOption(wait())
      .action(
        action(async (run: Run, id: string, options: AskingOptions) =>
          (await create()).retry(run, id, options),
        ),
      ),
    [["windlass jobs retry 01890a5d-ac96 --wait", "follow the new job"]],
  );
  return examples(jobs, [
    ["windlass jobs plan network --wait", "show what would change"],
    ["windlass jobs deploy --plan 01890a5d-ac96 --wait", "apply exactly that plan"],
    ["windlass jobs logs 01890a5d-ac96 --follow", "follow the live log"],
  ]);
}
