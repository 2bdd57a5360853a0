/** The log of one job, as its steps use it. */
import { join } from "node:path";
import type { LogStep } from "../../protocol/jobs.ts";
import { Chunker } from "./chunker.ts";
import { Offsets } from "./offsets.ts";
import { LogShipper, usualTiming, type ShipperOptions, type Timing } from "./shipper.ts";
import { redactorOf } from "../../common/redaction/redactor.ts";
import { Sources } from "./sources.ts";
import { kibibyte, mebibyte } from "../../common/units.ts";

export interface JobLogOptions extends Pick<
  ShipperOptions,
  "sink" | "batching" | "onJobStatus" | "onGiveUp"
> {
  /** The directory `jobs/<id>`; its `runs/<name>/{stdout,stderr}` are shipped. */
  readonly directory: string;
  /** Values that must not appear in the log. More can be added later. */
  readonly secrets: readonly string[];
  /** Sends no output of runs, because not all secrets are known. Default false. */
  readonly isWithheld?: boolean;
  /** Returns when the run of this directory ended; undefined while it runs. */
  readonly exitTime?: (directory: string) => Date | undefined;
  /** Bytes of output that are shipped; the rest is dropped and counted. Default 256 MiB. */
  readonly volumeLimit?: number;
}

/** How a job writes to its log. */
export interface JobLog {
  /** Appends one SYSTEM line; the newline is added. `starts`: the step that starts with it. */
  system(text: string, starts?: string): void;
  /** Records that a step has ended, without a line. `over`: when, if that was before. */
  stepEnded(name: string, over?: Date): void;
  /** Ships both streams until `ended` resolves and they are read. After a restart, it continues. */
  run(name: string, ended: Promise<void>): void;
  addSecrets(secrets: readonly string[]): void;
  /** Resolves when everything so far is acknowledged, with the number of chunks. */
  drained(signal?: AbortSignal): Promise<number>;
  /** Stops timers, watchers and posts; the files stay for the next start. */
  close(): Promise<void>;
}

/**
 * Sends again, with the same numbers, what an earlier process left. Throws DamagedFileError if it
 * is not known what was sent.
 */
export async function openJobLog(
  options: JobLogOptions,
  timing: Timing = usualTiming,
): Promise<JobLog> {
  const { directory, onGiveUp } = options;
  const sources = new Sources(directory);
  const offsets = openOffsets(directory, sources);
  const secrets = new Set(options.secrets);
  let redactor = redactorOf([...secrets]);
  /** Runs that this process watches to their end; the others were started by an earlier one. */
  const heard = new Set<string>();
  const drains = new Set<PromiseWithResolvers<number>>();
  let refusal: { error: unknown } | undefined;
  let isClosed = false;
  /** A server that knows only the published interface gets no steps. */
  const stepOf = (name: string, event: LogStep["event"], over?: Date): LogStep | undefined =>
    options.batching ? { name, event, at: timeUntil(over) } : undefined;
  /** When the runs of an earlier process ended that are over. */
  const overs = new Map(
    sources.list.flatMap((source) => {
      const over = "run" in source && options.exitTime?.(join(directory, "runs", source.run));
      return over ? [[source.run, over]] : [];
    }),
  );

  const chunker = new Chunker({
    directory,
    sources,
    entries: offsets.entries(),
    redactor: () => redactor,
    volumeLimit: options.volumeLimit ?? usualVolumeLimit,
    isWithheld: options.isWithheld ?? false,
    time: options.batching ? (run) => timeUntil(overs.get(run)) : undefined,
    // A run that no command watches is over once a later one runs or the log is to end, because the
    // runs of a job follow one another.
    isEnded: (run) =>
      sources.find(run)?.ended === true ||
      (!heard.has(run) && (drains.size > 0 || sources.isFollowed(run, heard))),
  });
  const shipper = new LogShipper({
    ...options,
    chunker,
    sources,
    offsets,
    timing,
    isDraining: () => drains.size > 0,
    onIdle: () => {
      for (const drain of drains) drain.resolve(offsets.lastSeq);
      drains.clear();
    },
    onGiveUp: (error) => {
      refusal = { error };
      for (const drain of drains) drain.reject(error);
      drains.clear();
      onGiveUp(error);
    },
  });

  return {
    system(text, starts) {
      const line = redactor.redact(Buffer.from(text)).slice(0, systemLineLimit);
      sources.system(line, starts === undefined ? undefined : stepOf(starts, "started"));
      shipper.notify();
    },
    stepEnded(name, over) {
      const step = stepOf(name, "ended", over);
      if (!step) return;
      sources.system("", step);
      shipper.notify();
    },
    run(name, ended) {
      sources.run(name);
      heard.add(name);
      const end = (): void => {
        if (isClosed) return;
        sources.end(name);
        shipper.notify();
      };
      // However the command ended, nothing more will be written.
      ended.then(end, end);
      shipper.notify();
    },
    addSecrets(more) {
      for (const secret of more) secrets.add(secret);
      redactor = redactorOf([...secrets]);
    },
    async drained(signal) {
      signal?.throwIfAborted();
      if (refusal) throw refusal.error;
      const drain = Promise.withResolvers<number>();
      const abort = (): void => drain.reject(signal?.reason);
      signal?.addEventListener("abort", abort, { once: true });
      drains.add(drain);
      shipper.notify();
      try {
        return await drain.promise;
      } finally {
        drains.delete(drain);
        signal?.removeEventListener("abort", abort);
      }
    },
    async close() {
      isClosed = true;
      for (const drain of drains) drain.reject(new Error("the log was closed"));
      await shipper.close();
      chunker.close();
      sources.close();
      offsets.close();
    },
  };
}

/** Accepts everything and ships nothing, if the record of what was shipped is damaged. */
export const silentLog: JobLog = {
  system: () => undefined,
  stepEnded: () => undefined,
  run: () => undefined,
  addSecrets: () => undefined,
  drained: () => Promise.resolve(0),
  close: () => Promise.resolve(),
};

function openOffsets(directory: string, sources: Sources): Offsets {
  try {
    return new Offsets(directory);
  } catch (error) {
    sources.close();
    throw error;
  }
}

/**
 * By the clock at the agent's start plus the monotonic clock, so that clock changes do not count.
 * Nothing of a run happens after it is over.
 */
const timeUntil = (over: Date | undefined): string =>
  new Date(
    Math.min(performance.timeOrigin + performance.now(), over?.getTime() ?? Infinity),
  ).toISOString();

const usualVolumeLimit = 256 * mebibyte;
/** The agent's own lines are short, but the error of a tool that it quotes may not be. */
const systemLineLimit = 64 * kibibyte;
