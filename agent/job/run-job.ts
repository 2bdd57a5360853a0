/**
 * Runs one job from its journal, a new one or one that a former agent left, by the same steps in
 * the same order.
 *
 * claimed → PROCESSING reported → steps → outcome decided → log delivered → end reported → all
 * files of the job removed
 */
import { rm } from "node:fs/promises";
import type { ReportStatus } from "../../protocol/executions.ts";
import type { JobWarning } from "../../protocol/job-warnings.ts";
import { openJobLog, silentLog, type JobLog, type JobLogOptions } from "../logs/job-log.ts";
import { secretLinesLimit } from "../../common/redaction/secret-forms.ts";
import { usualTiming } from "../logs/shipper.ts";
import { DamagedFileError } from "../logs/ndjson.ts";
import { claimFault } from "./claim-fault.ts";
import { secondsSinceStart, startedNow } from "./elapsed.ts";
import { endIdentity } from "./credentials/credentials.ts";
import { JobStoppedError, type JobContext, type JobSettings, type Step } from "./context.ts";
import { sendDebugLog } from "./terraform/debug-log.ts";
import { appliedBackend } from "./terraform/backend.ts";
import type { Facts } from "./facts.ts";
import { failureReport, isOfJob, timeoutOf } from "./failure-report.ts";
import { causeOf, giveUp, hasCommand } from "./give-up.ts";
import { processWarning } from "./isolation/isolation.ts";
import { isolationOf } from "./isolation/open.ts";
import type { JobApi } from "./job-api.ts";
import { JobRefusedError } from "./job-refused-error.ts";
import type { JobStop } from "./job-stop.ts";
import { JournalError, type Journal, type StopReason } from "./journal.ts";
import { checkSecrets, knowsAllSecrets, missesFormer, secretsLost, secretsOf } from "./secrets.ts";
import { stepsOf } from "./steps.ts";
import { exitTime } from "./terraform/process.ts";
import { warningsOf } from "./terraform/warnings.ts";
import { jobDirectory, workspaceOf } from "./workspace.ts";

/** `ABANDONED`: another worker or attempt holds the job; nothing was reported. */
export type JobResult = "SUCCESS" | "FAILED" | "CANCELLED" | "ABANDONED";

export interface JobRun {
  readonly journal: Journal;
  readonly settings: JobSettings;
  readonly api: JobApi;
  /** Stops the job; the first reason wins. */
  readonly stop: JobStop;
  /** The error for which the agent gives the job up, after it has tried to continue it. */
  readonly failed?: Error | undefined;
}

export interface JobEnd {
  readonly result: JobResult;
  /** May take long, so the next job does not wait for it. */
  remove(): Promise<void>;
}

/** Runs the job to its acknowledged end. */
export async function runJob({ journal, settings, api, stop, failed }: JobRun): Promise<JobEnd> {
  const { claim } = journal.find("claimed") ?? {};
  if (!claim) throw new Error("the journal has no claim");
  const directory = jobDirectory(settings.workDir, claim.job.id);
  // What has begun had a claim that an earlier version accepted.
  const fault = journal.find("begun") ? undefined : claimFault(claim);
  if (fault !== undefined) return refuse(fault, journal, api, directory);
  const workspace = workspaceOf(settings.workDir, claim);
  const isolation = isolationOf(journal, claim, workspace, settings.isolation);
  let result: JobResult = "ABANDONED";
  if (!journal.find("reported")) {
    const base = { claim, settings, api, journal, workspace, isolation, directory };
    const cause = causeOf(base, failed);
    if (cause === undefined) result = await perform(base, stop);
    else {
      const report = journal.find("ended")?.report ?? (await giveUp(base, cause));
      result = await reportEnd(api, { ...report, ...appliedBackend(journal) });
    }
    journal.append({ at: "reported" });
  }
  if (!journal.find("left")) {
    await isolation.leave();
    markLeft(journal);
  }
  journal.close();
  return {
    result,
    async remove() {
      await isolation.remove();
      // The journal is removed last: while it exists, a restarted agent continues the cleanup.
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Ends a job of which nothing has run, without using its claim. */
async function refuse(
  fault: string,
  journal: Journal,
  api: JobApi,
  directory: string,
): Promise<JobEnd> {
  const report = { status: "FAILED", error_message: `claim: ${fault}` } as const;
  const result = journal.find("reported") ? "ABANDONED" : await reportEnd(api, report);
  journal.append({ at: "reported" });
  journal.close();
  return { result, remove: () => rm(directory, { recursive: true, force: true }) };
}

/** On a full disk, the removal is what helps. */
function markLeft(journal: Journal): void {
  try {
    journal.append({ at: "left" });
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
  }
}

type Base = Pick<
  JobContext,
  "claim" | "settings" | "api" | "journal" | "workspace" | "isolation" | "directory"
>;

async function perform(base: Base, stop: JobStop): Promise<JobResult> {
  const { api, journal } = base;
  const gaveUp = new AbortController();
  // Opening the log sends nothing, so it may happen while the start is reported.
  const [started, opened, flushed] = await Promise.allSettled([
    reportStart(base),
    openLog(base, stop, gaveUp),
    journal.flush(),
  ]);
  if (opened.status === "rejected") throw opened.reason;
  const log = opened.value;
  let timer: NodeJS.Timeout | undefined;
  try {
    for (const part of [started, flushed]) if (part.status === "rejected") throw part.reason;
    if (started.status === "fulfilled" && !started.value) return "ABANDONED";
    timer = setTimeout(() => stop.request("timed out"), remaining(base));
    resumeLog({ ...base, log });
    const report = journal.find("ended")?.report ?? (await decide({ ...base, log }, stop.signal));
    clearTimeout(timer);
    const [last_seq] = await Promise.all([lastSeq(log, gaveUp.signal), journal.flush()]);
    if (stop.signal.reason === "not the holder" || isLost(gaveUp.signal.reason)) return "ABANDONED";
    return await reportEnd(api, {
      ...report,
      ...appliedBackend(journal),
      ...(last_seq === undefined ? {} : { last_seq }),
      ...damageIn(gaveUp.signal.reason, report),
    });
  } finally {
    clearTimeout(timer);
    await log.close();
  }
}

/** Returns false if the job was cancelled or given to another worker: then nothing may run. */
async function reportStart({ api, journal }: Base): Promise<boolean> {
  if (journal.find("started")) return true;
  try {
    await api.reportStatus({ status: "PROCESSING" });
  } catch (error) {
    if (error instanceof JobRefusedError) return false;
    throw error;
  }
  journal.append(startedNow());
  return true;
}

/** If the log cannot be continued, the job goes on without: its outcome matters more. */
async function openLog(base: Base, stop: JobStop, gaveUp: AbortController): Promise<JobLog> {
  const { claim, settings, directory, api } = base;
  const options: JobLogOptions = {
    directory,
    sink: api,
    secrets: secretsOf(base),
    isWithheld: !knowsAllSecrets(base),
    batching: claim.job.attempt !== undefined,
    exitTime,
    volumeLimit: settings.logLimitBytes,
    onJobStatus: (status) => {
      if (status === "CANCELLED") stop.request("cancelled");
    },
    onGiveUp: (error) => {
      gaveUp.abort(error);
      if (isLost(error)) stop.request("not the holder");
    },
  };
  try {
    return await openJobLog(options, { ...usualTiming, retry: settings.retry });
  } catch (error) {
    if (!(error instanceof DamagedFileError)) throw error;
    gaveUp.abort(error);
    return silentLog;
  }
}

/** Ships what a former agent has run, except the run of the step that is not done. */
function resumeLog({ claim, journal, log, settings, isolation }: Base & { log: JobLog }): void {
  const done = journal.entries.findLastIndex(({ at }) => at === "done" || at === "ended");
  for (const entry of journal.entries.slice(0, Math.max(0, done))) {
    if (entry.at === "run" && entry.logged) log.run(entry.run, Promise.resolve());
  }
  if (journal.find("ended")) return;
  const isRestart = journal.find("begun") !== undefined;
  const title = `${settings.title}, isolation ${isolation.level}`;
  log.system(isRestart ? `${title}, was restarted; the job continues` : title);
  if (!knowsAllSecrets({ claim, journal, settings })) log.system(`Warning: ${secretsLost}`);
  if (isolation.level === "process" && !isRestart) log.system(`Warning: ${processWarning}`);
  if (missesFormer({ claim }) && !isRestart) log.system(`Warning: ${formerWarning}`);
}

const formerWarning = `The sensitive values of earlier deployments have more than ${secretLinesLimit} lines and texts. Not all of them are masked in the log`;

/** Runs the steps and returns the outcome, which nothing changes from then on. */
async function decide(base: Base & { log: JobLog }, stop: AbortSignal): Promise<ReportStatus> {
  const { journal, log, claim } = base;
  const steps = stepsOf(claim.job.job_type);
  const over = new AbortController();
  const context: JobContext = { ...base, facts: {}, stop, over: over.signal, steps, position: 0 };
  let report: ReportStatus;
  let name = "start";
  try {
    if (!journal.find("begun")) checkSecrets(base);
    for (const step of steps) {
      context.position++;
      name = step.name;
      Object.assign(context.facts, await doneOrRun(step, context));
    }
    const { metadata, summary } = context.facts;
    report = {
      status: "SUCCESS",
      ...(metadata ? { execution_metadata: metadata } : {}),
      ...(summary ? { plan_summary: summary } : {}),
    };
  } catch (error) {
    // The result of the step is not lost: it is found again by the files that the step left.
    if (error instanceof JournalError) throw error;
    if (!isOfJob(error) && hasCommand(base, name)) throw error;
    report = failureReport(base, error as Error, name, stop);
  } finally {
    over.abort();
    context.prepared?.cancel();
  }
  await endIdentity(context);
  report = withMetadata(report, context.facts, await warningsOf(base));
  if (stop.reason !== "not the holder") await sendDebugLog(context);
  log.system(
    [report.status, report.failure?.summary ?? report.error_message].filter(Boolean).join(": "),
  );
  journal.append({ at: "ended", report });
  return report;
}

async function doneOrRun(step: Step, context: JobContext): Promise<Facts> {
  const { journal, stop } = context;
  const done = journal.find("done", (entry) => entry.step === step.name);
  if (done) {
    Object.assign(context.facts, done.facts);
    await step.resume?.(context, done.facts);
    return {};
  }
  if (!journal.find("begun", (entry) => entry.step === step.name)) {
    // A step that has begun runs again even then, because its terraform may still be running and
    // must be waited for.
    const isStopped = stop.aborted && !(step.always && stop.reason !== "not the holder");
    if (isStopped) throw new JobStoppedError(stop.reason as StopReason);
    journal.append({ at: "begun", step: step.name });
  }
  const facts = await step.run(context);
  journal.append({ at: "done", step: step.name, facts });
  return facts;
}

/** Says in the report why the log is not complete. */
function damageIn(error: unknown, { error_message }: ReportStatus): Partial<ReportStatus> {
  if (!(error instanceof DamagedFileError)) return {};
  const lost = `the log is incomplete: ${error.message}`;
  return { error_message: error_message === undefined ? lost : `${error_message}; ${lost}` };
}

/** Undefined if the server accepts no more of the log: the end is reported without it. */
async function lastSeq(log: JobLog, gaveUp: AbortSignal): Promise<number | undefined> {
  try {
    return gaveUp.aborted ? undefined : await log.drained(gaveUp);
  } catch (error) {
    if (gaveUp.aborted) return undefined;
    throw error;
  }
}

/** Adds the commit of a source in git and terraform's warnings, also if the job failed. */
function withMetadata(
  report: ReportStatus,
  { source, merged }: Facts,
  warnings: readonly JobWarning[],
): ReportStatus {
  const more = {
    ...(source?.type === "git" ? { source_commit: source.digest } : {}),
    ...(merged && { merged }),
    ...(warnings.length > 0 ? { warnings: [...warnings] } : {}),
  };
  if (Object.keys(more).length === 0) return report;
  return { ...report, execution_metadata: { ...report.execution_metadata, ...more } };
}

async function reportEnd(api: JobApi, report: ReportStatus): Promise<JobResult> {
  try {
    await api.reportStatus(report);
  } catch (error) {
    if (!(error instanceof JobRefusedError)) throw error;
    const { execution_metadata, plan_summary, ...bare } = report;
    if (error.reason !== "refused" || !(execution_metadata || plan_summary)) return "ABANDONED";
    // A report without outputs is better than a job that never ends.
    return reportEnd(api, bare);
  }
  return report.status as JobResult;
}

/** The longest that a timer accepts; a longer limit applies after the agent's next restart. */
const timerLimit = 2 ** 31 - 1;

/** Returns the milliseconds that are left. */
function remaining(base: Base): number {
  const spent = secondsSinceStart(base.journal) ?? 0;
  return Math.min(Math.max(0, timeoutOf(base) - spent) * 1000, timerLimit);
}

const isLost = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "not_job_holder";
