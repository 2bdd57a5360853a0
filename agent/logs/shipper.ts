/**
 * Sends a log: takes chunks from the chunker when there is something, few enough posts are in
 * flight and it is time; numbers them, writes that down, and hands them to `deliver`. Memory holds
 * only what is in flight.
 */
import type { SequencedChunk } from "../../protocol/executions.ts";
import type { JobStatus, LogStep } from "../../protocol/jobs.ts";
import { retryLimits, type BackoffLimits } from "../../common/backoff.ts";
import { Notifier } from "./notifier.ts";
import type { Chunk, Chunker } from "./chunker.ts";
import { deliver, type LogSink, type Post } from "./delivery.ts";
import { chunkBytes, countOf, type Entry, type Offsets } from "./offsets.ts";
import { isDiskFull } from "./ndjson.ts";
import type { Sources } from "./sources.ts";
import { minute } from "../../common/units.ts";

/** In milliseconds. Tests scale them. */
export interface Timing {
  /** Between the starts of two posts, unless a full one is ready. */
  readonly pace: number;
  /** The pace once `burstPosts` have followed one another: each post is a row at the server. */
  readonly steadyPace: number;
  /** Between two checks of a run that sends no notifications. */
  readonly poll: number;
  /** How long a response may take. */
  readonly patience: number;
  readonly retry: BackoffLimits;
}

export const usualTiming: Timing = {
  pace: 100,
  steadyPace: 500,
  poll: 1000,
  patience: minute,
  retry: retryLimits(),
};

/** Posts that are not full. `steadyPace` adds one, so slower output is never delayed. */
const burstPosts = 300;
/** The full chunks of one post to a server that accepts several. */
const postChunks = 8;
/** For chunks that are short, because each has a line about a resource, or empty. */
const postShortChunks = 100;

export interface ShipperOptions {
  readonly sink: LogSink;
  /** The server accepts `chunks`, steps and parallel posts (its claim had `attempt`). */
  readonly batching: boolean;
  readonly chunker: Chunker;
  readonly sources: Sources;
  readonly offsets: Offsets;
  readonly timing: Timing;
  /** Whether a caller waits for the end of the log, so that pacing must not delay it. */
  isDraining(): boolean;
  /** Everything was sent and acknowledged. */
  onIdle(): void;
  /** Each response's `job_status`: while there is output, this is how a cancel is noticed. */
  onJobStatus(status: JobStatus): void;
  /** The server refuses this log for good, such as for another holder; nothing more is sent. */
  onGiveUp(error: unknown): void;
}

export class LogShipper {
  readonly #options: ShipperOptions;
  readonly #notifier = new Notifier();
  readonly #closed = new AbortController();
  readonly #postChunks: number;
  readonly #inFlight = new Set<Promise<void>>();
  #newest: Promise<void> = Promise.resolve();
  /** Sent by an earlier process and not acknowledged. */
  #resend: Entry[];
  /** Cut, but not written down because the disk is full. */
  #unsaved: { entries: Entry[]; post: Post } | undefined;
  #nextPost = 0;
  #burst = burstPosts;
  #burstAt = 0;
  readonly #work: Promise<void>;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#postChunks = options.batching ? postChunks : 1;
    this.#resend = [...options.offsets.unacknowledged];
    this.#work = this.#loop();
  }

  /** Something may have changed; the loop checks. */
  notify(): void {
    this.#notifier.notify();
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error("the log was closed"));
    this.notify();
    await this.#work;
    await Promise.allSettled(this.#inFlight);
  }

  async #loop(): Promise<void> {
    try {
      while (!this.#closed.signal.aborted) {
        const pause = this.#step();
        if (pause > 0) await this.#notifier.wait(pause);
      }
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** Sends one post if it can. Returns how long to wait for a change; 0: check again at once. */
  #step(): number {
    const { chunker, batching, timing } = this.#options;
    chunker.release();
    // Checked again without a notification, because a job may write while the server is away.
    if (this.#inFlight.size >= (batching ? 2 : 1)) return timing.poll;
    if (this.#resend.length > 0) {
      this.#send(this.#postOf(this.#resend.splice(0, this.#postChunks)));
      return 0;
    }
    const waiting = chunker.waiting();
    if (waiting === 0 && !this.#unsaved) return this.#rest();
    const early = this.#nextPost - performance.now();
    const isFull = waiting >= this.#postChunks * chunkBytes;
    if (early > 0 && !isFull && !this.#options.isDraining()) return early;
    const made = this.#unsaved ?? this.#make();
    if (!made) return this.#rest();
    if (!this.#save(made)) return timing.poll;
    this.#nextPost = performance.now() + (isFull ? timing.pace : this.#pace());
    this.#send(made.post);
    return 0;
  }

  #pace(): number {
    const { pace, steadyPace } = this.#options.timing;
    const now = performance.now();
    const earned = (now - this.#burstAt) / steadyPace;
    this.#burst = Math.max(0, Math.min(burstPosts, this.#burst + earned) - 1);
    this.#burstAt = now;
    return this.#burst >= 1 ? pace : steadyPace;
  }

  #make(): { entries: Entry[]; post: Post } | undefined {
    const chunks: Chunk[] = [];
    const most = this.#options.batching ? postShortChunks : 1;
    let room = postChunks * chunkBytes;
    while (chunks.length < most && room > 0) {
      const chunk = this.#options.chunker.take();
      if (!chunk) break;
      chunks.push(chunk);
      const bytes = Buffer.byteLength(chunk.text);
      // A full chunk ends with a line, a little before the limit.
      room -= bytes > chunkBytes / 2 ? Math.max(bytes, chunkBytes) : bytes;
    }
    if (chunks.length === 0) return undefined;
    let seq = this.#options.offsets.lastSeq;
    const entries: Entry[] = [];
    const post: SequencedChunk[] = [];
    for (const { entry, text, step } of chunks) {
      entries.push({ seq: ++seq, ...entry });
      post.push(chunkOf(text, { ...entry, seq }, step));
    }
    return { entries, post };
  }

  /** Returns false while the disk is full: what is not recorded would get another number later. */
  #save(made: { entries: Entry[]; post: Post }): boolean {
    const { sources, offsets } = this.#options;
    try {
      sources.save();
      offsets.add(made.entries);
      this.#unsaved = undefined;
      return true;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      this.#unsaved = made;
      return false;
    }
  }

  #send(post: Post): void {
    const before = this.#newest;
    const { sink, offsets, onJobStatus, timing } = this.#options;
    const delivered = deliver(post, before, {
      sink,
      retry: timing.retry,
      patience: timing.patience,
      closed: this.#closed.signal,
      recall: (first, last) => this.#recall(first, last),
      onAnswer: (sent, { job_status: status }) => {
        // A number that is stored means that all before it are stored.
        offsets.acknowledge(sent.at(-1)?.seq ?? 0);
        onJobStatus(status);
      },
    });
    this.#newest = delivered;
    this.#inFlight.add(delivered);
    delivered
      .catch((error: unknown) => this.#giveUp(error))
      .finally(() => {
        this.#inFlight.delete(delivered);
        this.notify();
      });
  }

  /** Checks once more after the watch starts: what was written before gave no notification. */
  #rest(): number {
    const { chunker, timing, onIdle } = this.#options;
    if (chunker.done) {
      if (this.#inFlight.size === 0) onIdle();
      return Infinity;
    }
    if (chunker.watch(() => this.notify())) return 0;
    return Math.max(1, Math.min(timing.poll, chunker.untilRelease));
  }

  *#recall(first: number, last: number): Iterable<Post> {
    const { chunker, offsets, batching } = this.#options;
    let post: SequencedChunk[] = [];
    let texts = 0;
    for (const entry of offsets.entries()) {
      const start = Math.max(first, entry.seq - countOf(entry) + 1);
      for (let seq = start; seq <= Math.min(last, entry.seq); seq++) {
        const isText = seq === start;
        const text = isText ? chunker.textOf(entry) : "";
        const step = isText ? chunker.stepOf(entry) : undefined;
        post.push(chunkOf(text, { ...entry, seq }, step));
        texts += Number(isText);
        if (texts < this.#postChunks && batching && post.length < postShortChunks) continue;
        yield post;
        [post, texts] = [[], 0];
      }
    }
    if (post.length > 0) yield post;
  }

  #postOf(entries: readonly Entry[]): Post {
    const { chunker } = this.#options;
    return entries.map((entry) => chunkOf(chunker.textOf(entry), entry, chunker.stepOf(entry)));
  }

  #giveUp(error: unknown): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort(error);
    this.notify();
    this.#options.onGiveUp(error);
  }
}

const chunkOf = (
  log_chunk: string,
  { stream, seq, resource }: Pick<Entry, "stream" | "seq" | "resource">,
  step: LogStep | undefined,
): SequencedChunk => ({
  log_chunk,
  stream_type: stream,
  seq,
  ...(step ? { step } : {}),
  ...(resource ? { resource } : {}),
});
