/** `windlass jobs`: what is queued, runs and has run. */
import { Option } from "@commander-js/extra-typings";
import { examples, noun, repeated, yes } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { debugOption } from "./value-options.ts";
import type { AskingOptions, CreateOptions, DeployOptions } from "../jobs/create.ts";
import type { DebugLogOptions } from "../logs/debug-log.ts";
import type { LogsOptions } from "../logs/logs.ts";
import type { ListOptions, ShowOptions } from "../jobs/read.ts";

const create = () => import("../jobs/create.ts");
const read = () => import("../jobs/read.ts");
const wait = () => new Option("--wait", "follow the job to its end; the exit code is the job's");
const worker = () => new Option("--worker <name>", "only this worker may take it: name or id");
const label = () =>
  repeated(
    "--label <label>",
    "the worker must have it, in place of the configuration's; again for more",
  );

/** The command with its verbs; their work is loaded when they run. */
export function jobsCommand() {
  const jobs = noun("jobs", "what is queued, runs and has run: plans, deployments, destructions");

  examples(
    jobs
      .command("plan")
      .description("plan a configuration: what would a deployment change?")
      .argument("<configuration>", "name or id of the configuration")
      .addOption(wait())
      .addOption(worker())
      .addOption(label())
      .addOption(debugOption())
      .action(
        action(async (run: Run, name: string, options: CreateOptions) =>
          (await create()).plan(run, name, options),
        ),
      ),
    [
      ["windlass jobs plan network --wait", "and show what would change"],
      ["windlass jobs plan network --json | jq -r .id", "for a script"],
    ],
  );
  examples(
    jobs
      .command("deploy")
      .description("deploy a configuration, or exactly what a plan says")
      .argument("[configuration]", "name or id; not needed with --plan")
      .option("--plan <job>", "apply the plan of this job; without it, plan and apply in one go")
      .addOption(wait())
      .addOption(worker())
      .addOption(label())
      .addOption(debugOption())
      .action(
        action(async (run: Run, name: string | undefined, options: DeployOptions) =>
          (await create()).deploy(run, name, options),
        ),
      ),
    [
      ["windlass jobs deploy --plan 01890a5d-… --wait", "what was reviewed, nothing else"],
      ["windlass jobs deploy network --wait", "plan and apply in one go"],
    ],
  );
  examples(
    jobs
      .command("destroy")
      .description("destroy everything that a configuration has deployed")
      .argument("<configuration>", "name or id of the configuration")
      .addOption(yes())
      .addOption(wait())
      .addOption(worker())
      .addOption(label())
      .addOption(debugOption())
      .action(
        action(async (run: Run, name: string, options: AskingOptions) =>
          (await create()).destroy(run, name, options),
        ),
      ),
    [["windlass jobs destroy preview-42 --yes --wait", "in a pipeline"]],
  );
  examples(
    jobs
      .command("destroy-worker")
      .description("tear down the deployment that a worker runs on, then remove the worker")
      .argument("<worker>", "name or id of the worker to tear down; another one does it")
      .addOption(yes())
      .addOption(wait())
      .addOption(debugOption())
      .action(
        action(async (run: Run, name: string, options: AskingOptions) =>
          (await create()).destroyWorker(run, name, options),
        ),
      ),
    [["windlass jobs destroy-worker old-runner --wait", "drains it first"]],
  );
  examples(
    jobs
      .command("list")
      .description("list jobs, newest first")
      .addOption(
        new Option("--status <status>", "only jobs in this state").choices([
          "queued",
          "processing",
          "success",
          "failed",
          "cancelled",
        ]),
      )
      .option("--zone <name>", "only jobs of this zone: name or id")
      .option("--limit <count>", "how many", "20")
      .action(action(async (run: Run, options: ListOptions) => (await read()).list(run, options))),
    [
      ["windlass jobs list --status failed --zone production", "what went wrong there"],
      ["windlass jobs list --limit 500 --json", "for programs"],
    ],
  );
  examples(
    jobs
      .command("show")
      .description("show a job, what its plan would change, and its outputs")
      .argument("<job>", "id of the job")
      .option("--plan", "only what the plan would change; with --json the summary")
      .action(
        action(async (run: Run, id: string, options: ShowOptions) =>
          (await read()).show(run, id, options),
        ),
      ),
    [
      ["windlass jobs show 01890a5d-…", "all about it"],
      [
        "windlass jobs show 01890a5d-… --plan --json | jq .plan_summary.counts",
        "how much would change",
      ],
    ],
  );
  examples(
    jobs
      .command("logs")
      .description("print the log of a job")
      .argument("<job>", "id of the job")
      .option("-f, --follow", "go on until the job ends; the exit code is the job's")
      .action(
        action(async (run: Run, id: string, options: LogsOptions) =>
          (await import("../logs/logs.ts")).logs(run, id, options),
        ),
      ),
    [
      ["windlass jobs logs 01890a5d-… --follow", "live"],
      ["windlass jobs logs 01890a5d-… --json", "one chunk a line, as the server has it"],
    ],
  );
  examples(
    jobs
      .command("debug-log")
      .description("write the debug log of a job that was queued with --debug; it may hold secrets")
      .argument("<job>", "id of the job")
      .option("--output <file>", "into this file, which only you may read; else to stdout")
      .action(
        action(async (run: Run, id: string, options: DebugLogOptions) =>
          (await import("../logs/debug-log.ts")).debugLog(run, id, options),
        ),
      ),
    [
      ["windlass jobs plan network --debug --wait", "make one"],
      ["windlass jobs debug-log 01890a5d-… --output debug.log", "and read it"],
    ],
  );
  examples(
    jobs
      .command("cancel")
      .description("cancel a job that is queued or runs; terraform stops in order and unlocks")
      .argument("<job>", "id of the job")
      .addOption(wait())
      .action(
        action(async (run: Run, id: string, options: CreateOptions) =>
          (await create()).cancel(run, id, options),
        ),
      ),
    [["windlass jobs cancel 01890a5d-… --wait", "until the runner has let go of it"]],
  );
  examples(
    jobs
      .command("retry")
      .description("ask again, as a new job, for what failed or was cancelled")
      .argument("<job>", "id of the job")
      .addOption(wait())
      .action(
        action(async (run: Run, id: string, options: CreateOptions) =>
          (await create()).retry(run, id, options),
        ),
      ),
    [["windlass jobs retry 01890a5d-… --wait", "and follow it"]],
  );
  return examples(jobs, [
    ["windlass jobs plan network --wait", "what would change?"],
    ["windlass jobs deploy --plan 01890a5d-… --wait", "deploy exactly that"],
    ["windlass jobs logs 01890a5d-… --follow", "see it happen"],
  ]);
}
