/** `--wait`: follows a job to its end with its log, its waiting reason, its run time and Ctrl-C. */
import type { Job, JobProgress } from "../../protocol/jobs.ts";
import { askLine, canAsk } from "../terminal/ask.ts";
import { liveLine, type LiveLine } from "../terminal/live-line.ts";
import { CliError, print, say, styled } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { duration } from "../terminal/times.ts";
import { followJob } from "../logs/follow.ts";
import { applyProgress } from "../logs/apply-progress.ts";
import { foldedLog } from "../logs/folded-log.ts";
import { logLines } from "../logs/log-lines.ts";
import { teamWords } from "../api/team.ts";
import { isWaiting } from "../../protocol/waiting-words.ts";
import { adviseWorker } from "../workers/advise.ts";
import { noteUndeclared, undeclaredVariables } from "./undeclared.ts";
import { nextSteps, type NextStep } from "./next-steps.ts";
import { outcomeText, nameOf, waitingLine } from "./words.ts";

interface Watching {
  /** Whether to show the log. */
  readonly log?: boolean;
  /** Whether to show of the log one line for each step that succeeded. */
  readonly folds?: boolean;
}

/** Returns the ended job. Throws `CliError` with exit code 130 if the user detaches. */
export async function watchJob(
  run: Run,
  job: Job,
  { log = true, folds = false }: Watching = {},
): Promise<Job> {
  // With --json, stdout is reserved for the object that the command prints at the end.
  using live = liveLine(run.json ? say : print);
  const show = (line: string): void => live.print(line);
  const folded = folds ? foldedLog(show) : undefined;
  const lines = logLines(show);
  const applied = applyProgress(job.changes ? changesIn(job.changes) : undefined);
  const undeclared = undeclaredVariables();
  const detached = new AbortController();
  // The job may have been queued or running for long when the client begins to follow it.
  let start = Date.parse(job.started_at ?? job.created_at);
  let trouble: string | undefined;
  let progress: JobProgress | undefined;
  let isHeld = job.claimed_at !== null && job.released_at === null;
  let step: string | undefined;
  /** The last system line outside of steps, such as a download. */
  let note: string | undefined;
  const textOf = (at: JobProgress | undefined) => progressText(run, job, at, isHeld);
  const onProgress = (next: JobProgress): void => {
    const before = progress;
    progress = next;
    if ((before ?? job).status === "QUEUED" && next.status === "PROCESSING") start = Date.now();
    isHeld ||= next.status === "PROCESSING";
    const word = textOf(next);
    if (word !== undefined && word !== textOf(before) && !(folds && word === running))
      live.say(styledNote(`${capital(nameOf(job))}: ${word}`));
  };
  const isQueued = (): boolean => (progress ?? job).status === "QUEUED";
  using _ = run.onInterrupt(interruptHandler(run, job, live, { detached, isQueued }));
  // The advice has the reason, so it is not printed again until it changes.
  if (await adviseWorker(run, job)) progress = job;
  live.set(() => {
    if (job.ended_at !== null) return `reading the log of the ${nameOf(job)}`;
    const state = textOf(progress) ?? "queued";
    const doing = [step ?? note ?? running, applied.text()].filter(Boolean).join(" · ");
    const now = state === running ? doing : state;
    // The reason stands above; it is printed again when it changes.
    const what = trouble ?? (progress?.waiting_reason ? "waiting" : now);
    return `${nameOf(job)} · ${duration(Date.now() - start)} · ${what}`;
  });
  try {
    const end = await followJob(run.api, job.id, {
      signal: detached.signal,
      onChunk: (chunk) => {
        if (chunk.step) {
          step = chunk.step.event === "started" ? chunk.step.name : undefined;
          note = undefined;
        } else if (chunk.stream_type === "SYSTEM")
          note = chunk.log_chunk.trim().split("\n").at(-1) || note;
        applied.add(chunk);
        if (log) (folded ?? lines).add(chunk);
        if (chunk.stream_type !== "SYSTEM") undeclared.read(chunk.log_chunk);
      },
      onProgress,
      onTrouble: (why) => {
        if (why !== undefined && trouble === undefined)
          live.say(`${why}\nThe job continues. Reconnecting …`);
        if (why === undefined && trouble !== undefined) live.say("Reconnected.");
        trouble = why === undefined ? undefined : "reconnecting";
      },
    });
    lines.flush();
    folded?.end(end.status === "SUCCESS");
    detached.abort();
    live[Symbol.dispose]();
    if (end.log_complete === false)
      say("The log is incomplete: the runner did not send all of it.");
    if (log) await noteUndeclared(run, job, undeclared.names);
    return await run.api.call("getJob", { params: { id: job.id } });
  } catch (error) {
    if (detached.signal.aborted)
      throw new CliError(`Detached. ${detachedHint(run, job, isQueued())}`, 130);
    if (error instanceof CliError && error.exitCode === 1)
      throw new CliError(`${error.message}\n${detachedHint(run, job, isQueued())}`, 1, error);
    throw error;
  }
}

/** Throws `CliError` with exit code 1, what exists now and what to do, unless the job succeeded. */
export async function reportOutcome(run: Run, job: Job, next?: NextStep): Promise<void> {
  if (job.status === "SUCCESS") return run.done(styledNote(outcomeText(job)));
  throw new CliError(`${outcomeText(job)}\n${await nextSteps(run, job, next)}`);
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const styledNote = (text: string): string => (process.stderr.isTTY ? styled("bold", text) : text);

const running = "running";

const changesIn = ({
  create,
  update,
  replace,
  delete: gone,
}: NonNullable<Job["changes"]>): number => create + update + replace + gone;

function progressText(
  { api }: Run,
  job: Job,
  progress: JobProgress | undefined,
  isHeld: boolean,
): string | undefined {
  if (progress && isWaiting(progress)) return waitingLine(api, job, progress);
  if (progress?.status === "PROCESSING") return running;
  if (progress?.status !== "CANCELLED") return undefined;
  return isHeld ? "cancelled; waiting for the runner to stop terraform" : "cancelled";
}

function detachedHint({ api }: Run, { id }: Job, isQueued: boolean): string {
  const team = teamWords(api.team);
  return `The job ${isQueued ? "stays in the queue" : "continues"}. To follow or cancel it:
  windlass jobs logs ${id} --follow${team}
  windlass jobs cancel ${id}${team}`;
}

/** Asks on a terminal whether to detach from the job or to cancel it, else detaches. */
function interruptHandler(
  run: Run,
  job: Job,
  live: LiveLine,
  { detached, isQueued }: { detached: AbortController; isQueued: () => boolean },
): () => void {
  let asking = false;
  const question = async (): Promise<void> => {
    const answer = await live.paused(async () => {
      say("");
      for (;;) {
        const typed = await askLine(
          isQueued()
            ? "The job has not started. Leave it in the queue (d), cancel it (c), or keep waiting (Enter)? "
            : "Detach and leave the job running (d), cancel it (c), or continue watching (Enter)? ",
          detached.signal,
        );
        if (typed === undefined || /^(d|detach|c|cancel|)$/i.test(typed)) return typed;
        say("Type d or c, or press Enter.");
      }
    });
    if (detached.signal.aborted) return;
    if (answer === undefined || /^d/i.test(answer)) return detached.abort();
    if (!/^c/i.test(answer)) return;
    const { released_at } = await run.api.call("cancelJob", { params: { id: job.id } });
    live.say(
      released_at === null
        ? "Cancelled. Waiting for the runner to stop terraform."
        : "Cancelled before it started.",
    );
  };
  return () => {
    if (!canAsk()) return detached.abort();
    if (asking) return;
    asking = true;
    question()
      // Such as 409 if the job has ended in the meantime.
      .catch((error: unknown) => live.say((error as Error).message))
      .finally(() => {
        asking = false;
      });
  };
}
