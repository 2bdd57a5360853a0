/** `windlass workers` and `windlass tokens`: the runners, and what they sign in with. */
import type { Worker } from "../../protocol/workers.ts";
import type { UpdateOptions } from "../workers/update.ts";
import { examples, noun, repeated, yes, verbExamples } from "../noun.ts";
import { action, type Run } from "../run.ts";
import { ago, time } from "../terminal/times.ts";

interface Yes {
  readonly yes?: true | undefined;
}

/** The command with its verbs. */
export function workersCommand() {
  const workers = noun("workers", "the runners that do the work, in your own network");
  const named = (name: string, description: string) =>
    workers.command(name).description(description).argument("<name>", "name or id of the worker");
  workers
    .command("list")
    .description("list the workers that serve you")
    .action(
      action(async ({ api, list }) => {
        const answer = await api.call("listWorkers");
        list(
          answer.workers,
          {
            NAME: ({ name }) => name,
            STATUS: ({ status }) => status,
            VERSION: ({ version }) => version,
            LABELS: ({ labels }) => labels.join(",") || "-",
            JOBS: ({ mode, active_job_ids }) =>
              mode === "cloud-hosted" ? null : active_job_ids.length,
            SEEN: ({ mode, last_heartbeat }) =>
              mode === "cloud-hosted" ? null : ago(last_heartbeat),
            ID: ({ id }) => id,
          },
          "There are no workers yet. Make one: windlass workers create NAME",
        );
      }),
    );
  named("show", "show a worker").action(
    action(async (run: Run, name: string) => show(run, await workerOf(run, name))),
  );
  examples(
    workers
      .command("create")
      .description("make a worker; its token is shown this once")
      .argument("<name>", "1 to 100 characters")
      .addOption(repeated("--label <label>", "what it can do; again for more"))
      .action(
        action(async (run: Run, name: string, { label }: { label?: string[] | undefined }) => {
          const body = { name, ...(label === undefined ? {} : { labels: label }) };
          identity(run, await run.api.call("createWorker", { body }));
        }),
      ),
    [
      ["windlass workers create runner-1 --label eu-west", "and how to start it"],
      ["windlass workers create runner-1 --json > identity.json", "worker_id and worker_token"],
    ],
  );
  examples(
    named("update", "rename a worker, change its labels, or say what tearing it down destroys")
      .option("--name <name>", "another name, 1 to 100 characters")
      .addOption(
        repeated(
          "--label <label>",
          'what it can do, in place of its labels; again for more, "" for none',
        ),
      )
      .option(
        "--deploy-configuration <name>",
        "the configuration whose state holds it: name, id or none",
      )
      .addOption(
        repeated(
          "--target <address>",
          "with it: destroy only this, such as module.worker; again for more",
        ),
      )
      .option(
        "--deploy-file <file>",
        "the deploy configuration as JSON, with a snapshot of its own",
      )
      .action(
        action(async (run: Run, name: string, options: UpdateOptions) => {
          const { update } = await import("../workers/update.ts");
          await show(run, await update(run, await workerOf(run, name), options));
        }),
      ),
    [
      ["windlass workers update runner-1 --name runner-eu --label eu", "what is named changes"],
      [
        "windlass workers update old --deploy-configuration net --target module.pool",
        "what jobs destroy-worker destroys",
      ],
    ],
  );
  named("drain", "give it no new jobs; what it runs goes on").action(
    action(async (run: Run, name: string) => {
      const { id } = await workerOf(run, name);
      await show(run, await run.api.call("drainWorker", { params: { id } }));
    }),
  );
  named("undrain", "give it jobs again").action(
    action(async (run: Run, name: string) => {
      const { id } = await workerOf(run, name);
      await show(run, await run.api.call("undrainWorker", { params: { id } }));
    }),
  );
  named("rotate-token", "make a new token, shown this once; the old one works a while longer")
    .option("--overlap <seconds>", "how long the old token works on; 0 ends it at once", "600")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: Yes & { overlap: string }) => {
        const { wholeOf } = await import("../api/pages.ts");
        const overlap_seconds = wholeOf("--overlap", options.overlap);
        const worker = await workerOf(run, name);
        const { confirm } = await import("../terminal/ask.ts");
        const end = overlap_seconds === 0 ? "now" : `in ${overlap_seconds} seconds`;
        await confirm(`End the token that "${worker.name}" works with ${end}?`, options);
        const input = { params: { id: worker.id }, body: { overlap_seconds } };
        identity(run, await run.api.call("rotateWorkerToken", input));
      }),
    );
  named("delete", "remove a worker; what it runs counts as lost")
    .addOption(yes())
    .action(
      action(async (run: Run, name: string, options: Yes) => {
        const worker = await workerOf(run, name);
        const { confirm } = await import("../terminal/ask.ts");
        const jobs = worker.active_job_ids.length;
        const lost = jobs > 0 ? ` and lose the ${jobs} ${jobs === 1 ? "job" : "jobs"} it runs` : "";
        await confirm(`Remove the worker "${worker.name}"${lost}?`, options);
        await run.api.call("deleteWorker", { params: { id: worker.id } });
        run.done(`The worker "${worker.name}" is removed.`);
      }),
    );
  verbExamples(workers, {
    list: ["", "who is there"],
    show: ["runner-1", "what it runs, and where"],
    drain: ["runner-1", "before its machine is serviced"],
    undrain: ["runner-1", "afterwards"],
    "rotate-token": ["runner-1 --yes --json", "for a script"],
    delete: ["runner-1", "asks first"],
  });
  return examples(workers, [
    ["windlass workers create runner-1", "make one, and see how to start it"],
    ["windlass workers drain runner-1", "before its machine is serviced"],
  ]);
}

/** `windlass tokens`: what registers runners that do not exist yet. */
export function tokensCommand() {
  const tokens = noun("tokens", "registration tokens, with which runners register themselves");
  const create = tokens
    .command("create")
    .description("make a registration token; it is shown this once")
    .option("--uses <count>", "how many runners it registers", "1")
    .option("--expires <minutes>", "how long it works", "60")
    .action(
      action(async (run: Run, options: { uses: string; expires: string }) => {
        const { countOf } = await import("../api/pages.ts");
        const token = await run.api.call("createRegistrationToken", {
          body: {
            uses: countOf("--uses", options.uses),
            expires_in_seconds: 60 * countOf("--expires", options.expires),
          },
        });
        run.show(token, {
          token: token.registration_token,
          expires: time(token.expires_at),
          uses: token.uses_left,
        });
        run.done(
          `\nAs a service:\n  sudo windlass agent install --url ${run.api.server} --registration-token-file -\nor in a container, with the token in a file that is mounted:\n  WINDLASS_URL=${run.api.server} WINDLASS_REGISTRATION_TOKEN_FILE=/run/secrets/token windlass agent`,
        );
      }),
    );
  examples(create, [
    ["windlass tokens create --uses 10 --expires 1440", "for an image or a group, for a day"],
    ["windlass tokens create --json | jq -r .registration_token", "for a script"],
  ]);
  return tokens;
}

/** A worker by name or id. Throws `Failure` when there is none. */
async function workerOf({ api }: Run, name: string): Promise<Worker> {
  const { find } = await import("../api/find.ts");
  return find("worker", "workers", (await api.call("listWorkers")).workers, name);
}

async function show(run: Run, worker: Worker): Promise<void> {
  const { teardownOf } = await import("../workers/teardown.ts");
  const destroys = run.json ? undefined : await teardownOf(run.api, worker);
  run.show(worker, {
    name: worker.name,
    id: worker.id,
    status: worker.status,
    mode: worker.mode,
    version: worker.version,
    labels: worker.labels.join(", "),
    machine: [worker.hostname, worker.os, worker.arch].filter(Boolean).join(", "),
    features: worker.features.join(", "),
    isolation: worker.isolation,
    capacity: worker.capacity,
    ...(worker.mode === "cloud-hosted" ? {} : stateOf(worker)),
    teardown: destroys && `destroys ${destroys}`,
    created: time(worker.created_at),
  });
}

/** Of a cloud-hosted worker the server does not say it. */
const stateOf = ({ active_job_ids, last_heartbeat }: Worker) => ({
  jobs: active_job_ids.join("\n") || "none",
  seen: `${time(last_heartbeat)} (${ago(last_heartbeat)})`,
});

function identity(run: Run, made: { worker_id: string; worker_token: string }): void {
  run.show(made, { worker_id: made.worker_id, worker_token: made.worker_token });
  run.done(
    `
The token is not shown again. Put it in a file that only the runner's user can read, then:
  WINDLASS_URL=${run.api.server} WINDLASS_WORKER_ID=${made.worker_id} \\
    WINDLASS_WORKER_TOKEN_FILE=worker-token windlass agent
In a container the same three settings, with the file mounted. As a service of systemd, a runner that registers itself is simpler:
  windlass tokens create
  sudo windlass agent install --url ${run.api.server} --registration-token-file -`,
  );
}
