/** `--wait`: a job from its queue to its end in front of a person: its log, why it waits, how long it runs, and Ctrl-C. */
import type { Job, JobProgress } from "../../protocol/jobs.ts";
import { askLine, canAsk } from "../terminal/ask.ts";
import { liveLine, type LiveLine } from "../terminal/live-line.ts";
import { Failure, print, say, styled } from "../terminal/output.ts";
import type { Run } from "../run.ts";
import { duration } from "../terminal/times.ts";
import { followJob } from "../logs/follow.ts";
import { logLines } from "../logs/log-lines.ts";
import { waitingWords } from "../../protocol/words.ts";
import { endOf, nameOf } from "./words.ts";

/** Shows the job, and its log unless that is not wanted, until it ends and answers it as it ended. Throws `Failure` with 130 when the person leaves it to itself. */
export async function watchJob(run: Run, job: Job, { log = true } = {}): Promise<Job> {
  // Under --json stdout is for the one object that the command answers.
  using live = liveLine(run.json ? say : print);
  const lines = logLines((line) => live.print(line));
  const left = new AbortController();
  const begun = Date.now();
  let trouble: string | undefined;
  let progress: JobProgress | undefined;
  /** The step that runs. */
  let step: string | undefined;
  /** The runner's last line, for what it does outside of steps, such as a download. */
  let note: string | undefined;
  const onProgress = (next: JobProgress): void => {
    const before = progress;
    progress = next;
    const word = standing(next);
    if (word !== undefined && word !== standing(before))
      live.say(styledNote(`${capital(nameOf(job))}: ${word}`));
  };
  live.set(() => {
    const stands = standing(progress) ?? "queued";
    const what = trouble ?? (stands === running ? (step ?? note ?? running) : stands);
    return `${nameOf(job)} · ${duration(Date.now() - begun)} · ${what}`;
  });
  using _ = run.onInterrupt(interrupts(run, job, live, left));
  try {
    const end = await followJob(run.api, job.id, {
      signal: left.signal,
      onChunk: (chunk) => {
        if (chunk.step) {
          step = chunk.step.event === "started" ? chunk.step.name : undefined;
          note = undefined;
        } else if (chunk.stream_type === "SYSTEM")
          note = chunk.log_chunk.trim().split("\n").at(-1) || note;
        if (log) lines.add(chunk);
      },
      onProgress,
      onTrouble: (why) => {
        if (why !== undefined && trouble === undefined)
          live.say(`${why}\nThe job goes on; trying to follow it again.`);
        if (why === undefined && trouble !== undefined) live.say("Following it again.");
        trouble = why === undefined ? undefined : "no connection, trying again";
      },
    });
    lines.flush();
    left.abort();
    live[Symbol.dispose]();
    if (end.log_complete === false) say("Some of its log never arrived.");
    return await run.api.call("getJob", { params: { id: job.id } });
  } catch (error) {
    if (left.signal.aborted) throw new Failure(`detached. ${howToGoOn(job)}`, 130);
    if (error instanceof Failure && error.exitCode === 1)
      throw new Failure(`${error.message}\n${howToGoOn(job)}`, 1, error);
    throw error;
  }
}

/** Throws `Failure` unless the job succeeded, so that the exit code is the job's; says on stderr how it ended. */
export function mirror(run: Run, job: Job): void {
  if (job.status === "SUCCESS") return run.done(styledNote(`${endOf(job)}.`));
  throw new Failure(lowerFirst(endOf(job)), 1);
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const styledNote = (text: string): string => (process.stderr.isTTY ? styled("bold", text) : text);

const running = "running";

function standing(progress: JobProgress | undefined): string | undefined {
  if (progress?.waiting_reason) return waitingWords[progress.waiting_reason];
  if (progress?.status === "PROCESSING") return running;
  return progress?.status === "CANCELLED" ? "cancelled, the runner stops terraform" : undefined;
}

const howToGoOn = ({ id }: Job): string =>
  `The job goes on:\n  windlass jobs logs ${id} --follow\n  windlass jobs cancel ${id}`;

/** Ctrl-C: asks on a terminal whether to leave the job to itself or to cancel it; elsewhere it leaves. */
function interrupts(run: Run, job: Job, live: LiveLine, left: AbortController): () => void {
  let asking = false;
  const question = async (): Promise<void> => {
    const answer = await live.paused(() => {
      say("");
      return askLine(
        "Leave the job running (d = detach), cancel it (c), or go on watching (Enter)? ",
        left.signal,
      );
    });
    if (left.signal.aborted) return;
    if (answer === undefined || /^d/i.test(answer)) return left.abort();
    if (!/^c/i.test(answer)) return;
    await run.api.call("cancelJob", { params: { id: job.id } });
    live.say("Cancelled; waiting for the runner to stop terraform.");
  };
  return () => {
    if (!canAsk()) return left.abort();
    if (asking) return;
    asking = true;
    question()
      // Such as 409: it has ended meanwhile, which its end will say.
      .catch((error: unknown) => live.say((error as Error).message))
      .finally(() => {
        asking = false;
      });
  };
}
