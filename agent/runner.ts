/** One agent from start to end: lock, identity, earlier jobs, the two loops, an orderly stop. */
import { arch, hostname, platform } from "node:os";
import type { Logger } from "pino";
import { features } from "../protocol/features.ts";
import type { Heartbeat } from "../protocol/workers.ts";
import { createApi } from "./api/api.ts";
import { claimLoop } from "./claim-loop.ts";
import { openClaimKey } from "./claim-key.ts";
import type { AgentConfig } from "./config.ts";
import { Contact } from "./api/contact.ts";
import { DiskFloor } from "./machine/disk-space.ts";
import { Revocation } from "./api/failures.ts";
import { openKnownServer } from "./api/known-server.ts";
import { heartbeatLoop } from "./heartbeat.ts";
import { identify, instanceId } from "./identity.ts";
import { JobRuns } from "./job-runs.ts";
import { isolate } from "./isolate.ts";
import type { JobSettings } from "./job/context.ts";
import { openDelegation, sweepGroups } from "./job/isolation/cgroup.ts";
import { IsolationMissingError } from "./job/isolation/choose.ts";
import { limitsBy } from "./job/isolation/limits.ts";
import { processWarning, type IsolationSettings } from "./job/isolation/isolation.ts";
import type { JobResult } from "./job/run-job.ts";
import { openSealKey } from "./job/secrets.ts";
import { freeWhenIdle } from "./machine/memory.ts";
import { useNetwork } from "./machine/network.ts";
import { openMonitoring } from "./monitoring/monitoring.ts";
import { Slots } from "./slots.ts";
import { openHousekeeping } from "./housekeeping.ts";
import { takeWorkDirectory } from "./work-directory.ts";
import { logReady } from "../common/log.ts";
import { program, version } from "../common/version.ts";

/** Two signals: take no new work, and stop the running work. */
export interface RunnerSignals {
  readonly noMoreWork: AbortSignal;
  readonly stopWork: AbortSignal;
}

/** The server refuses this worker's token. */
export class IdentityRevokedError extends Error {
  override readonly name = "IdentityRevokedError";
}

/** Runs until a signal, or after one job where that is set. Returns the last job's result. */
export async function runAgent(
  config: AgentConfig,
  log: Logger,
  { noMoreWork: stop, stopWork }: RunnerSignals,
): Promise<JobResult | undefined> {
  const { network } = config;
  const patience = patienceOf(config);
  const noMoreWork = AbortSignal.any([stop, patience]);
  useNetwork(network);
  const unlock = await takeWorkDirectory(config.workDir);
  try {
    const { settings, missing } = await isolate(config);
    const { folder: groups, lack } = openDelegation(config.systemd.isUnit);
    const isolation = { ...settings, groups };
    log.info(lack === undefined ? { groups } : { lack }, `limits of jobs: ${limitsBy(groups)}`);
    const facts = { isolation: isolation.level, ...(missing.length > 0 ? { missing } : {}) };
    if (isolation.level === "process") log.warn(facts, `isolation: process. ${processWarning}`);
    else log.info(facts, `isolation: ${isolation.level}`);
    const { workerId, workerToken } = await identify(
      config,
      isolation.level,
      log,
      noMoreWork,
    ).catch((error: unknown) => {
      throw patience.aborted ? new Error(`not registered: ${waitedTooLong(config)}`) : error;
    });
    const revoked = new AbortController();
    const revocation = new Revocation(config.heartbeatSeconds, () => {
      log.error("the control plane refuses this worker's token: stopping the running jobs");
      revoked.abort();
    });
    const { url: server, retry } = config;
    const known = openKnownServer(config);
    const common = { known, revocation, log, network, retry };
    const api = createApi({ server, workerId, workerToken, ...common });
    try {
      const result = await work(
        config,
        log,
        {
          noMoreWork: AbortSignal.any([noMoreWork, revoked.signal]),
          stopWork: AbortSignal.any([stopWork, revoked.signal]),
          revoked: revoked.signal,
        },
        api,
        jobSettings(config, isolation, workerToken),
      );
      if (revoked.signal.aborted) throw new IdentityRevokedError(revokedAdvice);
      if (patience.aborted && result === undefined && !stop.aborted)
        log.info(`no job came: ${waitedTooLong(config)}`);
      return result;
    } finally {
      await api.close();
    }
  } finally {
    unlock();
  }
}

/** Aborts when an agent for one job has waited for it long enough. */
const patienceOf = ({ once, onceWaitSeconds }: AgentConfig): AbortSignal =>
  once && onceWaitSeconds < Infinity
    ? AbortSignal.timeout(onceWaitSeconds * 1000)
    : new AbortController().signal;

const waitedTooLong = ({ onceWaitSeconds }: AgentConfig): string =>
  `WINDLASS_ONCE_WAIT_SECONDS=${onceWaitSeconds} has passed`;

const revokedAdvice =
  "the control plane refuses this worker's token: it was replaced, or the worker was removed. Set WINDLASS_WORKER_ID and WINDLASS_WORKER_TOKEN to the worker's id and its new token, or remove identity.json from the work directory and register again";

async function work(
  config: AgentConfig,
  log: Logger,
  { noMoreWork, stopWork, revoked }: RunnerSignals & { readonly revoked: AbortSignal },
  api: ReturnType<typeof createApi>,
  settings: JobSettings,
): Promise<JobResult | undefined> {
  const isolation = settings.isolation.level;
  const slots = new Slots(config.concurrency);
  const contact = new Contact();
  contact.pause("claim");
  let last: JobResult | undefined;
  const jobs: JobRuns = new JobRuns({
    api,
    settings,
    log,
    onEnd: (result, type) => {
      last = result;
      monitoring.ended(type, result);
      slots.give();
    },
    onRemoved: () => {
      housekeeping.trim();
      freeWhenIdle(isIdle);
    },
  });
  const running = (): number => jobs.ids().length;
  const isIdle = (): boolean => running() === 0;
  const floor = new DiskFloor({
    workDir: config.workDir,
    bytes: config.freeDiskBytes,
    every: (config.heartbeatSeconds * 1000) / 6,
    log,
  });
  const isDiskLow = (): boolean => floor.isLow;
  using monitoring = openMonitoring(config, log, {
    contact,
    isolation,
    running,
    isDiskLow,
  });
  const housekeeping = openHousekeeping(config, log);
  await housekeeping.begin();
  jobs.find();
  // No other agent can use the work directory, so these jobs are continued even while the server is
  // away, with their timeouts, credentials and logs. Only reports wait.
  const alive = jobs.adopt("running");
  const stop = (): void => jobs.stop(revoked.aborted ? "revoked" : "agent stopped");
  stopWork.addEventListener("abort", stop);

  const accepted = Promise.withResolvers<"accepted">();
  const over = new AbortController();
  const instance = instanceId(config.workDir);
  const body = (): Heartbeat => ({
    version: version(),
    active_job_ids: jobs.ids(),
    instance_id: instance,
    hostname: hostname(),
    os: platform(),
    arch: arch(),
    capacity: config.concurrency,
    isolation,
    // Without any, those stay that a person gave the worker.
    ...(config.labels.length === 0 ? {} : { labels: [...config.labels] }),
    features: [...features],
  });
  /** Frees the identity at once, unless the agent is killed or leaves jobs to the next start. */
  const leave = () =>
    api
      .leave(body())
      .catch(({ message }: Error) =>
        log.warn({ error: message }, "the last heartbeat was not accepted"),
      );
  const isCloudHosted = () =>
    api.isCloudHosted(noMoreWork).catch(({ message }: Error) => {
      if (!noMoreWork.aborted)
        log.warn({ error: message }, "the control plane does not show this worker");
      return false;
    });
  const heartbeats = heartbeatLoop({
    api,
    log,
    interval: config.heartbeatSeconds,
    stop: AbortSignal.any([over.signal, revoked]),
    body,
    jobsChanged: () => jobs.changed(),
    onCancelled: (ids) => jobs.stop("cancelled", ids),
    onAccepted: () => {
      contact.heard("heartbeat");
      accepted.resolve("accepted");
    },
  });
  const drained = new Promise((resolve) => {
    noMoreWork.addEventListener("abort", resolve);
    if (noMoreWork.aborted) resolve(undefined);
  });
  // Before the server has accepted the identity, jobs without a running command may be another
  // agent's: this directory may be a copy, and the original runs elsewhere.
  const isAccepted = (await Promise.race([accepted.promise, drained])) === "accepted";
  if (!isAccepted && !revoked.aborted && jobs.left().length > 0)
    log.warn(
      { jobs: jobs.left() },
      "the server has not accepted the identity; the next start continues these jobs",
    );
  if (isAccepted && isolation === "process" && (await isCloudHosted())) {
    over.abort();
    await heartbeats;
    await leave();
    throw new IsolationMissingError(
      "the runner of a cloud-hosted worker runs jobs of all users and refuses the isolation level process: docs/isolation.md says what a stronger level needs",
    );
  }
  const adopted = alive + (isAccepted || revoked.aborted ? jobs.adopt("all") : 0);
  for (let job = 0; job < adopted; job++) slots.takeAnyway();
  if (stopWork.aborted) stop();
  if (isAccepted) {
    await housekeeping.sweep(jobs.leftWorkspaces());
    const { groups } = settings.isolation;
    if (groups !== undefined) await sweepGroups(groups, jobs.ids());
  }
  if (!(config.once && adopted > 0)) {
    if (!noMoreWork.aborted)
      logReady(log, config, {
        fields: { server: config.url },
        message: "ready for jobs",
        more: [
          `Jobs come from ${config.url} and run in ${config.workDir}, isolation ${isolation}.`,
          `To deploy a directory: ${program()} up DIRECTORY. Ctrl-C stops the runner after its jobs.`,
        ],
      });
    freeWhenIdle(isIdle);
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
    contact.pause("claim");
  }
  await jobs.allDone();
  over.abort();
  await heartbeats;
  if (config.once && !isAccepted && !revoked.aborted && last === undefined)
    throw new Error("the control plane did not accept a heartbeat, so there was no job");
  if (isAccepted && !revoked.aborted) await leave();
  return last;
}

function jobSettings(
  config: AgentConfig,
  isolation: IsolationSettings,
  workerToken: string,
): JobSettings {
  // Jobs have no use for the token that registers workers.
  const { grace, registrationToken: _, ...used } = config;
  return {
    ...used,
    isolation,
    title: `Windlass agent ${version()} on ${hostname()}`,
    patience: {
      // Init has no lock and may hang on a backend that does not respond, so it is killed right
      // after its grace.
      init: { first: grace.init, second: 0 },
      plan: { first: grace.plan, second: grace.kill },
      apply: { first: grace.apply, second: grace.kill },
    },
    workerToken,
    sealKey: openSealKey(config.workDir),
  };
}
