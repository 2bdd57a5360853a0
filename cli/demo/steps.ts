/** What the demo does, step by step, through the same doors that everybody else uses. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job, JobType } from "../../protocol/jobs.ts";
import { openApi, type Api } from "../api/api.ts";
import { followJob } from "../logs/follow.ts";
import { logLines } from "../logs/log-lines.ts";
import { Failure, print, styled, table } from "../terminal/output.ts";
import { sampleFiles } from "./sample.ts";
import { signIn } from "./sign-in.ts";
import type { Stage } from "./processes.ts";

const email = "demo@example.com";
const sample = "hello-cluster";

/** Plays it to the end; with `keep` the end is a Ctrl-C. Throws what went wrong. */
export async function play(stage: Stage, options: { keep: boolean }): Promise<void> {
  print(
    styled("bold", "Windlass demo: a control plane, a runner and a deployment on this machine\n"),
  );
  const environment = {
    WINDLASS_HOST: "127.0.0.1",
    WINDLASS_PORT: "0",
    WINDLASS_DATA_DIR: `${stage.directory}/control-plane`,
    WINDLASS_LOG_FORMAT: "json",
  };
  const loginLink = async () =>
    (await stage.run(["server", "login-link", "--email", email], environment)).trim();

  const server = await startControlPlane(stage, environment);
  done(`control plane at ${server}, its data in ${stage.directory}`);

  const token = await signIn(server, await loginLink(), stage.signal);
  const settings = { url: server, token, directory: stage.directory };
  const api = openApi({ settings, server, profile: undefined, signal: stage.signal });
  done(`signed in as ${email}: one-time link, device code, access token`);

  await startRunner(stage, server, api);
  done("runner registered with a one-time token, and online");

  const configuration = await createConfiguration(api);
  done(`zone "demo" with configuration "${sample}", made from samples/${sample}`);

  const plan = await runJob(stage, api, configuration, "PLAN");
  await runJob(stage, api, configuration, "DEPLOY", plan);

  await showOutputs(api, configuration);
  if (options.keep) await stay(stage, server, await loginLink());
  else
    print(
      `\nThat was a real control plane, at ${server}, and a real runner; only the cluster was make-believe.\n\n${next}`,
    );
}

async function startControlPlane(stage: Stage, settings: Record<string, string>): Promise<string> {
  const player = stage.start("the control plane", ["server"], settings);
  const server = await player.logged("url");
  await until(stage.signal, async () => {
    const answer = await request(`${server}/readyz`, { signal: stage.signal });
    await answer.body.dump();
    return answer.statusCode === 200;
  });
  return server;
}

async function startRunner(stage: Stage, server: string, api: Api): Promise<void> {
  const { registration_token } = await api.call("createRegistrationToken", { body: {} });
  stage.start("the runner", ["agent"], {
    WINDLASS_URL: server,
    WINDLASS_REGISTRATION_TOKEN: registration_token,
    WINDLASS_WORKER_NAME: "demo-runner",
    WINDLASS_WORK_DIR: `${stage.directory}/runner`,
    WINDLASS_LOG_FORMAT: "json",
  });
  await until(stage.signal, async () => {
    const { workers } = await api.call("listWorkers");
    return workers.some((worker) => worker.status === "ONLINE");
  });
}

async function createConfiguration(api: Api): Promise<Configuration> {
  const zone = await api.call("createZone", { body: { name: "demo" } });
  return api.call("createConfiguration", {
    body: {
      name: sample,
      zone_id: zone.id,
      source: { type: "inline", files: sampleFiles(sample) },
    },
  });
}

/** Queues a job, shows its log as it is written, and answers the job when it has succeeded. */
async function runJob(
  { signal }: Stage,
  api: Api,
  configuration: Configuration,
  job_type: JobType,
  plan?: Job,
): Promise<Job> {
  const started = performance.now();
  const { id } = await api.call("createJob", {
    body: { job_type, configuration_id: configuration.id, plan_job_id: plan?.id ?? null },
  });
  print(
    `\n${styled("bold", job_type)}${plan ? " of that plan" : ""}  ${styled("dim", `job ${id}`)}`,
  );
  const lines = logLines((line) => print(`${styled("dim", "  │")} ${line}`));
  await followJob(api, id, {
    signal,
    onChunk: (chunk) => lines.add(chunk),
    onProgress: () => undefined,
    onTrouble: () => undefined,
  });
  lines.flush();
  const job = await api.call("getJob", { params: { id } });
  if (job.status !== "SUCCESS") {
    throw new Failure(
      `the ${job_type} ended as ${job.status}: ${job.error_message ?? "no reason given"}`,
    );
  }
  done(`${job_type} succeeded in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return job;
}

/** The outputs as the control plane keeps them after the deployment, not as the log printed them. */
async function showOutputs(api: Api, configuration: Configuration): Promise<void> {
  const deployed = await api.call("getConfiguration", {
    params: { name: configuration.name },
  });
  const rows = (["cluster_name", "cluster_endpoint", "gitops_url"] as const).map((name) => [
    `  ${name}`,
    styled("cyan", deployed[name] ?? "(none)"),
  ]);
  print(`\n${table(rows).join("\n")}`);
}

const next = `Next:
  npm run demo -- --keep    the same, and then it stays, with a link to sign in
  npm start                 a control plane that keeps what it is told
  README.md                 how the parts fit, and how to add a runner of your own`;

async function stay(stage: Stage, server: string, link: string): Promise<void> {
  print(`
The control plane stays at ${styled("cyan", server)} until you press Ctrl-C. To look around:
  ${link}
                            signs your browser in, once
  curl ${server}/readyz
                            answers 200 while it is ready for work
  tail -f ${stage.directory}/logs/agent.log
                            what the runner does`);
  await once(stage.signal, "abort");
  // A Ctrl-C is how this is meant to end; a process that ended by itself is not.
  if (stage.signal.reason instanceof Failure && stage.signal.reason.exitCode === 1) {
    throw stage.signal.reason;
  }
}

/** Asks again, at once at first, until the answer is yes. */
async function until(signal: AbortSignal, holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(50, undefined, { signal });
}

function done(what: string): void {
  print(`${styled("green", "✓")} ${what}`);
}
