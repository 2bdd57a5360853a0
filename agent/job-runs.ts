/** The jobs that this agent holds, from a claim or from the work directory at its start. */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { ClaimedJob } from "../protocol/executions.ts";
import type { AgentApi } from "./api/api.ts";
import { backoff, type BackoffLimits } from "../common/backoff.ts";
import type { JobSettings } from "./job/context.ts";
import { secondsSinceStart } from "./job/elapsed.ts";
import { crashesIn } from "./job/give-up.ts";
import { JournalError, openJournal, type Journal, type StopReason } from "./job/journal.ts";
import { JobStop } from "./job/job-stop.ts";
import { isDiskFull } from "./logs/ndjson.ts";
import { isRunning } from "./job/terraform/process.ts";
import { endedPrefix } from "./job/isolation/wipe.ts";
import { runJob, type JobEnd, type JobResult } from "./job/run-job.ts";
import { setAccessApart } from "./job/source/source-access.ts";
import { jobDirectory, workspaceId, workspacesFolder } from "./job/workspace.ts";
import { minute } from "../common/units.ts";

/** Milliseconds after which a continued job has not crashed the agent. */
const steadyAfter = minute;

/** Attempts of up to a minute before a job is given up: four minutes for a healthy apply. */
const failureLimit = 16;

/** Only for counting crashes: a full disk must not keep the job from continuing. */
function mark(journal: Journal, at: "adopted" | "steady"): void {
  try {
    journal.append({ at });
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
  }
}

/** What a log line says of a job. */
const factsOf = ({ job: { id, job_type, config_snapshot } }: ClaimedJob) => ({
  job: id,
  type: job_type,
  configuration: config_snapshot?.name,
});

interface Running {
  readonly claim: ClaimedJob;
  readonly done: Promise<JobResult>;
  stop: JobStop;
}

/** A job that an earlier process left. */
interface Left {
  readonly claim: ClaimedJob;
  readonly journal: Journal;
}

export interface JobRunsOptions {
  readonly api: AgentApi;
  readonly settings: JobSettings;
  readonly log: Logger;
  onEnd(result: JobResult, type: string): void;
  /** The files of a job are removed. */
  onRemoved?(): void;
  /** Pauses before a job is continued after an error of the agent. Tests scale them. */
  readonly retry?: BackoffLimits;
}

const notCleaned = "the job could not be cleaned up; the next start tries again";

export class JobRuns {
  readonly #options: JobRunsOptions;
  readonly #running = new Map<string, Running>();
  /** Jobs that have ended and whose files are being removed. */
  readonly #removing = new Map<string, Promise<void>>();
  #left: Left[] = [];
  #isAnyUnreadable = false;
  #changed = Promise.withResolvers<void>();

  constructor(options: JobRunsOptions) {
    this.#options = options;
  }

  /** All jobs that this agent holds, including those that it has not continued yet. */
  ids(): string[] {
    return [...this.left(), ...this.#running.keys()];
  }

  /** Jobs of an earlier process that it has not continued. */
  left(): string[] {
    return this.#left.map(({ claim }) => claim.job.id);
  }

  /** Resolves at the next start or end of a job. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Reads the journals of the jobs that an earlier process left, and changes nothing of them. */
  find(): void {
    const folder = join(this.#options.settings.workDir, "jobs");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) this.#find(join(folder, entry.name), entry.name);
    }
  }

  /** Returns how many. `running`: only those whose command runs here, which proves their owner. */
  adopt(which: "running" | "all"): number {
    const isOurs = ({ claim, journal }: Left): boolean =>
      which === "all" || this.#hasRunning(claim, journal);
    const found = this.#left.filter(isOurs);
    this.#left = this.#left.filter((left) => !found.includes(left));
    for (const { claim, journal } of found) {
      this.#options.log.info(factsOf(claim), "job found, continuing it");
      mark(journal, "adopted");
      this.#run(claim, journal);
      setTimeout(() => {
        if (crashesIn(journal) > 0) mark(journal, "steady");
      }, steadyAfter).unref();
    }
    return found.length;
  }

  #hasRunning({ job }: ClaimedJob, { entries }: Journal): boolean {
    const last = entries.findLast((entry) => entry.at === "run");
    const directory = jobDirectory(this.#options.settings.workDir, job.id);
    return last !== undefined && isRunning(join(directory, "runs", last.run));
  }

  /** Directories of jobs that are not held; none while a journal is unreadable. */
  leftWorkspaces(): string[] {
    const folder = workspacesFolder(this.#options.settings.workDir);
    if (this.#isAnyUnreadable || !existsSync(folder)) return [];
    const held = new Set([...this.#running.values()].map(({ claim }) => workspaceId(claim.job)));
    for (const id of [...this.#running.keys(), ...this.#removing.keys()])
      held.add(`${endedPrefix}${id}`);
    return readdirSync(folder)
      .filter((name) => !held.has(name))
      .map((name) => join(folder, name));
  }

  #find(directory: string, id: string): void {
    const { log } = this.#options;
    let journal: Journal;
    try {
      journal = openJournal(directory);
    } catch (error) {
      // The other jobs continue. The server no longer hears of this one and decides how it ended.
      this.#isAnyUnreadable = true;
      log.error({ job: id, error: (error as Error).message }, "the journal of a job is unreadable");
      return;
    }
    const { claim } = journal.find("claimed") ?? {};
    if (claim) {
      this.#left.push({ claim, journal });
    } else {
      // Killed before the claim was written down: it is claimed again with the same key.
      journal.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }

  /** Writes the claim to disk first. Returns false for a repeated response. */
  async start(claim: ClaimedJob): Promise<boolean> {
    const { id, attempt } = claim.job;
    const held = this.#running.get(id);
    if (held && held.claim.job.attempt === attempt) return false;
    // The server gave the job to another worker and back. The former attempt is refused everywhere
    // and ends by itself.
    await held?.done;
    await this.#removing.get(id);
    await this.#workspaceFree(claim);
    const { workDir } = this.#options.settings;
    const directory = jobDirectory(workDir, id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const journal = openJournal(directory);
    try {
      journal.append({ at: "claimed", claim: setAccessApart(claim, directory) });
    } catch (error) {
      journal.close();
      throw error;
    }
    this.#options.log.info(factsOf(claim), "job claimed");
    this.#run(claim, journal, performance.now());
    return true;
  }

  /** A PLAN may still be in the workspace when the DEPLOY of that plan is claimed. */
  async #workspaceFree({ job }: ClaimedJob): Promise<void> {
    const other = [...this.#running.values()].find(
      ({ claim }) => workspaceId(claim.job) === workspaceId(job),
    );
    if (!other) return;
    await other.done;
    await this.#workspaceFree({ job });
  }

  /** Stops some of the running jobs, or all of them. */
  stop(reason: StopReason, ids: Iterable<string> = this.#running.keys()): void {
    for (const id of ids) this.#running.get(id)?.stop.request(reason);
  }

  /** Resolves when no job is running and the files of all are removed. */
  async allDone(): Promise<void> {
    while (this.#running.size > 0) await this.#changed.promise;
    await Promise.all(this.#removing.values());
  }

  /** `claimed`: when this process claimed the job; undefined if an earlier one did. */
  #run(claim: ClaimedJob, journal: Journal, claimed?: number): void {
    const stop = new JobStop(journal);
    const done = Promise.withResolvers<JobResult>();
    const running: Running = { claim, done: done.promise, stop };
    this.#running.set(claim.job.id, running);
    this.#notifyChanged();
    void this.#untilDone(running, journal).then(({ result, remove }) => {
      this.#running.delete(claim.job.id);
      this.#remove(claim.job.id, remove);
      const seconds =
        claimed === undefined
          ? secondsSinceStart(journal)
          : Math.round(performance.now() - claimed) / 1000;
      this.#options.log.info({ ...factsOf(claim), result, seconds }, "job ended");
      done.resolve(result);
      this.#notifyChanged();
      // A claim that is refused may have any.
      const type: unknown = claim.job.job_type;
      this.#options.onEnd(result, String(type));
    });
  }

  /**
   * After an error of the agent, such as a full disk, the job continues from its journal, as after
   * a restart. After `failureLimit` errors in a row, other than a full disk, it is given up.
   */
  async #untilDone(running: Running, journal: Journal): Promise<JobEnd> {
    const { api, settings, log } = this.#options;
    const { id, attempt } = running.claim.job;
    let isOpen = true;
    let tries = 0;
    let failures = 0;
    let failed: Error | undefined;
    for (;;) {
      const began = performance.now();
      try {
        if (!isOpen) {
          journal = openJournal(jobDirectory(settings.workDir, id));
          isOpen = true;
          const { signal } = running.stop;
          running.stop = new JobStop(journal);
          // A full disk may have kept the journal from recording it.
          if (signal.aborted) running.stop.request(signal.reason as StopReason);
        }
        const { stop } = running;
        return await runJob({ journal, settings, api: api.forJob(id, attempt), stop, failed });
      } catch (error) {
        const fields = { job: id, error: (error as Error).stack };
        if (journal.find("reported")) {
          // The end of the job is reported. What is left on the disk must not keep the slot from
          // other jobs.
          journal.close();
          log.error(fields, notCleaned);
          const { status = "ABANDONED" } = journal.find("ended")?.report ?? {};
          return { result: status as JobResult, remove: () => Promise.resolve() };
        }
        log.error(fields, "the job was interrupted and continues soon");
        if (performance.now() - began >= steadyAfter) tries = failures = 0;
        if (!(error instanceof JournalError || isDiskFull(error))) failures++;
        if (failures >= failureLimit) failed ??= error as Error;
        await sleep(backoff(++tries, Math.random(), 0, this.#options.retry));
        journal.close();
        isOpen = false;
      }
    }
  }

  #remove(id: string, remove: JobEnd["remove"]): void {
    const removing = remove()
      .catch((error: unknown) => {
        this.#options.log.error({ job: id, error: (error as Error).stack }, notCleaned);
      })
      .then(() => {
        this.#removing.delete(id);
        this.#options.onRemoved?.();
      });
    this.#removing.set(id, removing);
  }

  #notifyChanged(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}
