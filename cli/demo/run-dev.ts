/** Runs a control plane and a runner on this machine until Ctrl-C. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { build, program } from "../../common/version.ts";
import { devEnvironment } from "../config.ts";
import { print, styled } from "../terminal/output.ts";
import { DemoProcesses } from "./processes.ts";
import { runProcesses } from "./run-demo.ts";
import {
  done,
  openSession,
  runnerDirectory,
  startControlPlane,
  startRunner,
  untilStopped,
} from "./steps.ts";

export interface DevOptions {
  readonly dataDir: string;
  readonly temporary?: true;
  readonly email: string;
}

/** Returns the exit code. Both processes have ended by then, and the data is kept. */
export function runDev({ dataDir, temporary, email }: DevOptions): Promise<number> {
  const { environment, port } = devEnvironment();
  const kept = temporary ? {} : { directory: resolve(dataDir) };
  const dev = new DemoProcesses({ ...kept, environment });
  const lastWords = temporary
    ? "Stopping and removing everything …"
    : "Stopping; jobs that run are cancelled …";
  return runProcesses("dev", dev, runSteps(dev, email, port), lastWords);
}

async function runSteps(dev: DemoProcesses, email: string, port: string): Promise<void> {
  const { server, loginLink } = await startControlPlane(dev, email, port);
  const isRegistered = existsSync(join(runnerDirectory(dev), "identity.json"));
  const api = isRegistered ? undefined : await openSession(dev, server, await loginLink());
  await startRunner(dev, server, "dev-runner", api);
  done(`Runner ready for the jobs of ${email}; the logs of both are in ${dev.directory}/logs`);
  print(`
Open this link to sign in. It works once, within 15 minutes:
  ${styled("cyan", await loginLink())}
Then, in another terminal:
  ${program()} login --server ${server}
  ${program()} up ${build() === undefined ? "samples/hello-cluster" : "DIRECTORY"}
Ctrl-C stops both.`);
  await untilStopped(dev);
}
