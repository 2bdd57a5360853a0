/** The log of one job, as its steps see it. */
import type { SequencedChunk } from "../../protocol/executions.ts";
import type { JobStatus } from "../../protocol/jobs.ts";

/** Where chunks go. Declared here, by its user; `agent/api.ts` implements it. */
export interface LogSink {
  /** One attempt. Throws ProblemError when the server refuses, or a network error; the shipper decides what to repeat. */
  appendLogs(chunks: SequencedChunk[], signal: AbortSignal): Promise<{ job_status: JobStatus }>;
}

export interface JobLogOptions {
  /** `jobs/<id>`; its `runs/<name>/{stdout,stderr}` are shipped. */
  readonly directory: string;
  readonly sink: LogSink;
  /** Values that must not appear in the log. More can be added later. */
  readonly secrets: readonly string[];
  /** The server takes `chunks` and parallel posts (its claim carried `attempt`). */
  readonly batching: boolean;
  /** Bytes of output that are shipped; the rest is dropped and counted. Default 256 MiB. */
  readonly volumeLimit?: number;
  /** Called with each answer's `job_status`: how a cancel arrives while there is output. */
  onJobStatus(status: JobStatus): void;
  /** The server refuses this log for good (not the holder, unknown job, …); nothing more is sent. */
  onGiveUp(error: unknown): void;
}

/** What a job does with its log. */
export interface JobLog {
  /** Appends one SYSTEM line; the newline is added. */
  system(text: string): void;
  /** Ships `runs/<name>/{stdout,stderr}` until `ended` resolves and both are read to their end. The same name again, after a restart, goes on. */
  run(name: string, ended: Promise<void>): void;
  addSecrets(secrets: readonly string[]): void;
  /** Resolves when everything so far is acknowledged, with the number of chunks. */
  drained(signal?: AbortSignal): Promise<number>;
  /** Stops timers, watchers and posts; the files stay for the next start. */
  close(): Promise<void>;
}

/** Opens the log of a job directory; what an earlier process left unsent is sent again with the same numbers. */
export async function openJobLog(_options: JobLogOptions): Promise<JobLog> {
  throw new Error("not built yet");
}
