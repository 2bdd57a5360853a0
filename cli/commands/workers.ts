/** `windlass workers`: the runners that run your jobs. */
import { tokenOverlap } from "../../protocol/limits.ts";
import { neverStarted, startCommand, workerStatusWords } from "../../protocol/worker-words.ts";
import type { Worker } from "../../protocol/workers.ts";
import { teamWords } from "../api/team.ts";
import type { UpdateOptions } from "../workers/update.ts";
import { counted, examples, labels, noun, repeated, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { ago, time, timeAndAge } from "../terminal/times.ts";

interface Yes {
  readonly yes?: true | undefined;
}

export function workersCommand() {
  const workers = noun("workers", "the runners that run your jobs");
  const named = (name: string, description: string) =>
    workers.command(name).description(description).argument("<name>", "name or id of the worker");
  workers
    .command("list")
    .description("list the workers whose runners can run your jobs")
    .action(
      action(async ({ api, list, done }) => {
        const { workers: all } = await api.call("listWorkers");
        list(
          all,
          {
            NAME: ({ name }) => name,
            STATUS: workerStatusWords,
            VERSION: ({ version }) => version,
            LABELS: ({ labels }) => labels.join(",") || "-",
            JOBS: (worker) => (worker.mode === "cloud-hosted" ? null : usedSlots(worker)),
            SEEN: ({ mode, last_heartbeat }) =>
              mode === "cloud-hosted" ? null : ago(last_heartbeat),
            ID: ({ id }) => id,
          },
          `There are no workers yet. To create one: windlass workers create NAME${teamWords(api.team)}`,
        );
        if (all.some(neverStarted))
          done(
            `\nTo see how to start the runner of a worker that never started: windlass workers show NAME${teamWords(api.team)}`,
          );
      }),
    );
  named("show", "show a worker").action(
    action(async (run: Run, name: string) => {
      const worker = await workerOf(run, name);
      await show(run, worker);
      if (neverStarted(worker)) run.done(startText(run, worker));
    }),
  );
  examples(
    workers
      .command("create")
      .description("create a worker; its token is shown only once")
      .argument("<name>", "1 to 100 characters")
      .addOption(labels("a label of the worker; repeatable"))
      .action(
        action(async (run: Run, name: string, { label }: { label?: string[] | undefined }) => {
          const body = { name, ...(label === undefined ? {} : { labels: label }) };
          identity(run, await run.api.call("createWorker", { body }), registration(run.api));
        }),
      ),
    [
      ["windlass workers create runner-1 --label eu-west", "also prints how to start it"],
      ["windlass workers create runner-1 --json > identity.json", "worker_id and worker_token"],
    ],
  );
  examples(
    named("update", "change the name, labels or deploy configuration of a worker")
      .option("--name <name>", "the new name, 1 to 100 characters")
      .addOption(
        labels(
          'a label of the worker; repeatable; replaces the earlier labels; "" removes all; a runner with WINDLASS_LABELS sets its own again',
        ),
      )
      .option(
        "--deploy-configuration <name>",
        'name or id of the configuration whose state contains the worker; - for that of this directory; "none" removes it',
      )
      .addOption(
        repeated(
          "--target <address>",
          "destroy only this part of it, such as module.worker; repeatable",
        ),
      )
      .option(
        "--deploy-file <file>",
        "a JSON file with the deploy configuration, including its own snapshot",
      )
      .action(
        action(async (run: Run, name: string, options: UpdateOptions) => {
          const { update } = await import("../workers/update.ts");
          await show(run, await update(run, await workerOf(run, name), options));
        }),
      ),
    [
      ["windlass workers update runner-1 --name runner-eu --label eu", "change name and labels"],
      [
        "windlass workers update old --deploy-configuration net --target module.pool",
        "choose what windlass jobs destroy-worker destroys",
      ],
    ],
  );
  named("drain", "give a worker no new jobs; running jobs continue").action(
    action(async (run: Run, name: string) => {
      const { id } = await workerOf(run, name);
      await show(run, await run.api.call("drainWorker", { params: { id } }));
    }),
  );
  named("undrain", "give a drained worker jobs again").action(
    action(async (run: Run, name: string) => {
      const { id } = await workerOf(run, name);
      await show(run, await run.api.call("undrainWorker", { params: { id } }));
    }),
  );
  named("rotate-token", "create a new token, shown only once; the old one ends after --overlap")
    .addOption(
      counted(
        "--overlap <seconds>",
        `how long the old token keeps working, at most ${tokenOverlap.maximum}; 0 ends it at once`,
        String(tokenOverlap.default),
      ),
    )
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: Yes & { overlap: string }) => {
        const { parseWholeNumber } = await import("../api/pages.ts");
        const { maximum } = tokenOverlap;
        const overlap_seconds = parseWholeNumber("--overlap", options.overlap, maximum);
        const worker = await workerOf(run, name);
        const { confirm } = await import("../terminal/ask.ts");
        const end = overlap_seconds === 0 ? "now" : `in ${overlap_seconds} seconds`;
        await confirm(
          `Create a new token for "${worker.name}"? The current token ends ${end}.`,
          options,
        );
        const input = { params: { id: worker.id }, body: { overlap_seconds } };
        const made = await run.api.call("rotateWorkerToken", input);
        identity(run, made, replacement(made.worker_id));
      }),
    );
  named("delete", "remove a worker; the jobs it runs count as lost")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: Yes) => {
        const worker = await workerOf(run, name);
        const { confirm } = await import("../terminal/ask.ts");
        const { jobNames } = await import("../workers/names.ts");
        const jobs = await jobNames(run, jobsOf(worker));
        const lost =
          jobs.length === 0
            ? ""
            : ` and lose the ${jobs.length === 1 ? "job" : `${jobs.length} jobs`} it runs: ${jobs.join(", ")}`;
        await confirm(`Remove the worker "${worker.name}"${lost}?`, options);
        await run.api.call("deleteWorker", { params: { id: worker.id } });
        run.done(`The worker "${worker.name}" is removed.`);
      }),
    );
  verbExamples(workers, {
    list: ["", "show their status and labels"],
    show: ["runner-1", "what it runs, and where"],
    drain: ["runner-1", "before its machine is serviced"],
    undrain: ["runner-1", "after the maintenance"],
    "rotate-token": ["runner-1 --yes --json", "for a script"],
    delete: ["runner-1", "asks for confirmation"],
  });
  return examples(workers, [
    ["windlass workers create runner-1", "create one; prints how to start it"],
    ["windlass workers drain runner-1", "before its machine is serviced"],
  ]);
}

async function workerOf({ api }: Run, name: string): Promise<Worker> {
  return (await import("../workers/find.ts")).workerOf(api, name);
}

/** An older server reports only those of the last heartbeat. */
const jobsOf = ({ held_job_ids, active_job_ids }: Worker): readonly string[] =>
  held_job_ids ?? active_job_ids;

function usedSlots(worker: Worker): string {
  const jobs = jobsOf(worker).length;
  return worker.capacity === null ? `${jobs}` : `${jobs} of ${worker.capacity}`;
}

async function show(run: Run, worker: Worker): Promise<void> {
  const [{ teardownOf }, { jobNames }] = await Promise.all([
    import("../workers/teardown.ts"),
    import("../workers/names.ts"),
  ]);
  const destroys = run.json ? undefined : await teardownOf(run.api, worker);
  const jobs = run.json ? [] : await jobNames(run, jobsOf(worker));
  run.show(worker, {
    name: worker.name,
    id: worker.id,
    status: workerStatusWords(worker),
    mode: worker.mode,
    version: worker.version,
    labels: worker.labels.join(", "),
    machine: [worker.hostname, worker.os, worker.arch].filter(Boolean).join(", "),
    features: worker.features.join(", "),
    isolation: worker.isolation,
    capacity: worker.capacity,
    ...(worker.mode === "cloud-hosted" ? {} : stateOf(worker, jobs)),
    teardown: destroys && `destroys ${destroys}`,
    created: time(worker.created_at),
  });
}

/** The server does not report these for a cloud-hosted worker. */
const stateOf = ({ last_heartbeat }: Worker, jobs: readonly string[]) => ({
  jobs: jobs.join("\n") || "none",
  seen: last_heartbeat === null ? "never" : timeAndAge(last_heartbeat),
});

const startText = ({ api }: Run, { id }: Worker): string => `
Its runner has never started. Run this on its machine, with the worker's token in the file worker-token:
${indented(startCommand(api.server, id))}
If you do not have the token any more, create another one: windlass workers rotate-token ${id}${teamWords(api.team)}`;

const indented = (text: string): string => text.replaceAll(/^/gm, "  ");

interface Identity {
  readonly worker_id: string;
  readonly worker_token: string;
}

function identity(run: Run, { worker_id, worker_token }: Identity, ofService: string): void {
  run.show({ worker_id, worker_token }, { worker_id, worker_token });
  run.done(
    `
The token is not shown again. Save it in a file that only the runner's user can read, then run:
${indented(startCommand(run.api.server, worker_id))}
In a container, use the same three settings and mount the file. For a systemd service, ${ofService}`,
  );
}

const registration = ({
  server,
  team,
}: Run["api"]): string => `let the runner register itself instead:
  windlass tokens create${teamWords(team)}
  sudo windlass agent install --url ${server} --registration-token-file -`;

/** The service has an identity already, so it would ignore a registration token. */
const replacement = (id: string): string => `on its machine:
  sudo install -D -m 600 worker-token /etc/credstore/windlass-agent.worker-token
  echo 'WINDLASS_WORKER_ID=${id}' | sudo tee -a /etc/windlass/agent.env
  sudo systemctl restart windlass-agent`;
