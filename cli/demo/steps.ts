/** The steps of the demo. They use only the public API and the command line. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "../../common/http-client.ts";
import { program } from "../../common/version.ts";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job, JobType } from "../../protocol/jobs.ts";
import { openApi, type Api } from "../api/api.ts";
import { followJob } from "../logs/follow.ts";
import { logLines } from "../logs/log-lines.ts";
import { CliError, print, styled } from "../terminal/output.ts";
import { table } from "../terminal/table.ts";
import { signIn } from "./sign-in.ts";
import type { DemoProcesses } from "./processes.ts";

const email = "demo@example.com";
const sample = "hello-cluster";

/** Runs all steps; with `keep`, then waits for Ctrl-C. */
export async function runSteps(demo: DemoProcesses, options: { keep: boolean }): Promise<void> {
  print(
    styled("bold", "Windlass demo: a control plane, a runner and a deployment on this machine\n"),
  );
  const { server, loginLink } = await startControlPlane(demo, email, "0");

  const api = await openSession(demo, server, await loginLink());
  done(`Signed in as ${email}: one-time link, device code, access token`);

  await startRunner(demo, server, "demo-runner", api);
  done("Runner registered with a one-time token, and online");

  const configuration = await createConfiguration(api);
  done(`Zone "demo" with configuration "${sample}", created from samples/${sample}`);

  const plan = await runJob(demo, api, configuration, "PLAN");
  await runJob(demo, api, configuration, "DEPLOY", plan);

  await showOutputs(api, configuration);
  if (options.keep) await keepRunning(demo, server, await loginLink());
  else
    print(
      `\nThe control plane and the runner were real; only the cluster was simulated.\n\n${next()}`,
    );
}

/** Returns the address, and what makes a sign-in link for the person with this e-mail address. */
export async function startControlPlane(demo: DemoProcesses, email: string, port: string) {
  const settings = {
    WINDLASS_HOST: "127.0.0.1",
    WINDLASS_PORT: port,
    WINDLASS_DATA_DIR: `${demo.directory}/control-plane`,
    WINDLASS_LOG_FORMAT: "json",
  };
  const child = demo.start("the control plane", ["server"], settings);
  const server = await child.logged("url");
  await until(demo.signal, async () => {
    const response = await request(`${server}/readyz`, { signal: demo.signal });
    await response.body.dump();
    return response.statusCode === 200;
  });
  done(`Control plane at ${server}, its data in ${demo.directory}`);
  const loginLink = async () =>
    (await demo.run(["server", "login-link", "--email", email], settings)).trim();
  return { server, loginLink };
}

export async function openSession(
  { directory, signal }: DemoProcesses,
  server: string,
  link: string,
): Promise<Api> {
  const token = await signIn(server, link, signal);
  return openApi({
    settings: { url: server, token, directory },
    server,
    profile: undefined,
    signal,
  });
}

/** Starts the runner and waits until it is ready; without `api`, it must be registered already. */
export async function startRunner(
  demo: DemoProcesses,
  server: string,
  name: string,
  api: Api | undefined,
): Promise<void> {
  const created = await api?.call("createRegistrationToken", { body: {} });
  const runner = demo.start("the runner", ["agent"], {
    WINDLASS_URL: server,
    ...(created === undefined ? {} : { WINDLASS_REGISTRATION_TOKEN: created.registration_token }),
    WINDLASS_WORKER_NAME: name,
    WINDLASS_WORK_DIR: runnerDirectory(demo),
    WINDLASS_LOG_FORMAT: "json",
  });
  // A field of the line that it is ready.
  await runner.logged("server");
}

export const runnerDirectory = ({ directory }: DemoProcesses): string => `${directory}/runner`;

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

/** Queues a job, prints its live log, and returns the job. Throws `CliError` unless it succeeds. */
async function runJob(
  { signal }: DemoProcesses,
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
    throw new CliError(
      `The ${job_type} job ended as ${job.status}: ${job.error_message ?? "no error message"}`,
    );
  }
  done(`${job_type} succeeded in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return job;
}

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

const next = (): string => `Next:
  ${program()} dev          keep a control plane and a runner, with a link to sign in
  ${program()} demo --keep  run this again and keep it running, with a link to sign in
  ${program()} up --help    how to deploy a directory of your own`;

async function keepRunning(demo: DemoProcesses, server: string, link: string): Promise<void> {
  print(`
The control plane runs at ${styled("cyan", server)} until you press Ctrl-C. To look around:
  ${link}
                            signs your browser in, once
  curl ${server}/readyz
                            returns 200 while the control plane is ready
  tail -f ${demo.directory}/logs/agent.log
                            shows what the runner does`);
  await untilStopped(demo);
}

/** Waits for Ctrl-C, or throws what has stopped the processes. */
export async function untilStopped(demo: DemoProcesses): Promise<void> {
  await once(demo.signal, "abort");
  // Ctrl-C is the expected end. A process that ended by itself is an error.
  if (demo.signal.reason instanceof CliError && demo.signal.reason.exitCode === 1) {
    throw demo.signal.reason;
  }
}

/** Polls until the condition holds. */
async function until(signal: AbortSignal, holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(50, undefined, { signal });
}

export function done(what: string): void {
  print(`${styled("green", "✓")} ${what}`);
}

const samples = join(import.meta.dirname, "../../samples");

/** Returns the files of `samples/<name>` by relative path. */
function sampleFiles(name: string): Record<string, string> {
  const directory = join(samples, name);
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    files.map((file) => [
      relative(directory, file).split(sep).join("/"),
      readFileSync(file, "utf8"),
    ]),
  );
}
