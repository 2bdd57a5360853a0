/** One agent from start to end: lock, identity, the jobs that are there, the two loops, and an orderly stop. */
import { mkdirSync } from "node:fs";
import { arch, hostname, platform } from "node:os";
import type { Logger } from "pino";
import { createApi } from "./api.ts";
import { claimLoop } from "./claim-loop.ts";
import { openClaimKey } from "./claim-key.ts";
import type { AgentConfig } from "./config.ts";
import { Contact } from "./contact.ts";
import { DiskFloor } from "./disk-space.ts";
import { Revocation } from "./failures.ts";
import { heartbeatLoop } from "./heartbeat.ts";
import { identify, instanceId } from "./identity.ts";
import { JobRuns } from "./job-runs.ts";
import { isolate } from "./isolate.ts";
import type { JobSettings } from "./job/context.ts";
import type { IsolationSettings } from "./job/isolation/isolation.ts";
import type { JobResult } from "./job/run-job.ts";
import { lockWorkDir } from "./lock.ts";
import { useNetwork } from "./network.ts";
import { oversee } from "./oversight.ts";
import { Slots } from "./slots.ts";
import { openTidiness } from "./tidiness.ts";
import { version } from "../version.ts";

/** The two ways to stop, and never one for both (style.md): no new work, and an end to the work there is. */
export interface RunnerSignals {
  readonly noMoreWork: AbortSignal;
  readonly stopWork: AbortSignal;
}

/** The server does not know this identity any more. */
export class IdentityRevoked extends Error {
  override readonly name = "IdentityRevoked";
}

/** Runs until it is told to stop, or after one job where that is set. Answers the last job's result. */
export async function runAgent(
  config: AgentConfig,
  log: Logger,
  { noMoreWork, stopWork }: RunnerSignals,
): Promise<JobResult | undefined> {
  const { network } = config;
  useNetwork(network);
  mkdirSync(config.workDir, { recursive: true, mode: 0o700 });
  const unlock = await lockWorkDir(config.workDir);
  try {
    const { settings: isolation, missing } = await isolate(config);
    log.info(
      { isolation: isolation.level, ...(missing.length > 0 ? { missing } : {}) },
      `isolation: ${isolation.level}`,
    );
    const { workerId, workerToken } = await identify(config, isolation.level, log, noMoreWork);
    const revoked = Promise.withResolvers<never>();
    const revocation = new Revocation(config.heartbeatSeconds, () =>
      revoked.reject(new IdentityRevoked("the control plane refuses this worker's token")),
    );
    const { url: server, retry } = config;
    const api = createApi({ server, workerId, workerToken, revocation, log, network, retry });
    try {
      return await Promise.race([
        work(
          config,
          log,
          { noMoreWork, stopWork },
          api,
          jobSettings(config, isolation, workerToken),
        ),
        revoked.promise,
      ]);
    } finally {
      await api.close();
    }
  } finally {
    unlock();
  }
}

async function work(
  config: AgentConfig,
  log: Logger,
  { noMoreWork, stopWork }: RunnerSignals,
  api: ReturnType<typeof createApi>,
  settings: JobSettings,
): Promise<JobResult | undefined> {
  const isolation = settings.isolation.level;
  const slots = new Slots(config.concurrency);
  const contact = new Contact();
  contact.rest("claim");
  let last: JobResult | undefined;
  const jobs: JobRuns = new JobRuns({
    api,
    settings,
    log,
    onEnd: (result, type) => {
      last = result;
      oversight.ended(type, result);
      slots.give();
      tidy.trim();
    },
  });
  const running = (): number => jobs.ids().length;
  const floor = openFloor(config, log);
  const isDiskLow = (): boolean => floor.isLow;
  await using oversight = await oversee(config, log, { contact, isolation, running, isDiskLow });
  const tidy = openTidiness(config, log);
  tidy.begin();
  const adopted = jobs.adopt();
  for (let job = 0; job < adopted; job++) slots.takeAnyway();
  await tidy.sweep(jobs.leftWorkspaces());
  stopWork.addEventListener("abort", () => jobs.stop("agent stopped"));

  const accepted = Promise.withResolvers<void>();
  const over = new AbortController();
  const instance = instanceId(config.workDir);
  const heartbeats = heartbeatLoop({
    api,
    log,
    interval: config.heartbeatSeconds,
    stop: over.signal,
    body: () => ({
      version: version(),
      active_job_ids: jobs.ids(),
      instance_id: instance,
      hostname: hostname(),
      os: platform(),
      arch: arch(),
      capacity: config.concurrency,
      isolation,
      labels: [...config.labels],
    }),
    jobsChanged: () => jobs.changed(),
    onCancelled: (ids) => jobs.stop("cancelled", ids),
    onAccepted: () => {
      contact.heard("heartbeat");
      accepted.resolve();
    },
  });
  const drained = new Promise((resolve) => noMoreWork.addEventListener("abort", resolve));
  // Not before the server has accepted the identity: a second agent that has it must not get jobs.
  await Promise.race([accepted.promise, drained]);
  if (!(config.once && adopted > 0)) {
    if (!noMoreWork.aborted) log.info({ server: config.url }, "ready for jobs");
    await claimLoop({
      api,
      slots,
      key: openClaimKey(config.workDir),
      log,
      contact,
      noMoreWork,
      pollEvery: (config.heartbeatSeconds * 1000) / 15,
      once: config.once,
      start: (claim) => jobs.start(claim),
      room: (signal) => floor.wait(signal),
    });
    contact.rest("claim");
  }
  await jobs.allDone();
  over.abort();
  await heartbeats;
  return last;
}

const openFloor = (
  { workDir, freeDiskBytes, heartbeatSeconds }: AgentConfig,
  log: Logger,
): DiskFloor =>
  new DiskFloor({ workDir, bytes: freeDiskBytes, every: (heartbeatSeconds * 1000) / 6, log });

function jobSettings(
  config: AgentConfig,
  isolation: IsolationSettings,
  workerToken: string,
): JobSettings {
  const { grace } = config;
  return {
    workDir: config.workDir,
    isolation,
    title: `Windlass agent ${version()} on ${hostname()}`,
    path: config.path,
    network: config.network,
    cloud: config.cloud,
    gitAccess: config.gitAccess,
    engineMirror: config.engineMirror,
    engineOffline: config.engineOffline,
    providerMirror: config.providerMirror,
    cacheBytes: config.cache.bytes,
    freeDiskBytes: config.freeDiskBytes,
    enginePublicKeys: config.enginePublicKeys,
    logLimitBytes: config.logLimitBytes,
    retry: config.retry,
    patience: {
      // Init holds no lock and may hang on a backend that does not answer: killed at once after its grace.
      init: { first: grace.init, second: 0 },
      plan: { first: grace.plan, second: grace.kill },
      apply: { first: grace.apply, second: grace.kill },
    },
    workerToken,
  };
}
