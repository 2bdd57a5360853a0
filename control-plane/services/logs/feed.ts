/** streams.ts describes how readers become live. */
import { isHeld, hasEnded } from "../../domain/job.ts";
import type { LogChunk } from "../../../protocol/jobs.ts";
import { findJob } from "../../store/jobs/jobs.ts";
import type { Context } from "../context.ts";
import { viewProgress } from "./progress.ts";
import { readLog } from "./logs.ts";
import { kibibyte } from "../../../common/units.ts";

/** The part of a reader's connection that streams need: a Node response. */
export interface StreamReader {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableLength: number;
  /** Whether it needs time before it gets more. */
  readonly writableNeedDrain: boolean;
  write(bytes: Buffer | string): boolean;
  end(): unknown;
  destroy(): unknown;
  once(event: "close" | "drain", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
}

/** A live reader with more unsent bytes is no longer live: it catches up at its own pace. */
const behindLimit = 256 * kibibyte;

interface Reader {
  readonly raw: StreamReader;
  /** The id of the last chunk written to it. */
  position: number;
  progress: string;
}

/** One job's readers. Calls `whenEmpty` after the last one has left. */
export class JobFeed {
  readonly #context: Context;
  readonly #job: string;
  readonly #whenEmpty: () => void;
  readonly #all = new Set<Reader>();
  readonly #live = new Set<Reader>();
  /** All live readers have every chunk up to this id, which never decreases. */
  #position = 0;
  #isLooking = false;
  #lookAgain = false;

  constructor(context: Context, job: string, whenEmpty: () => void) {
    this.#context = context;
    this.#job = job;
    this.#whenEmpty = whenEmpty;
  }

  /** Adds a reader that has read up to `position`. */
  add(raw: StreamReader, position: number, progress: string): void {
    const reader: Reader = { raw, position, progress };
    if (raw.destroyed) return this.#all.size === 0 ? this.#whenEmpty() : undefined;
    this.#all.add(reader);
    raw.once("close", () => {
      this.#all.delete(reader);
      this.#live.delete(reader);
      if (this.#all.size === 0) this.#whenEmpty();
    });
    raw.write(event("status", progress));
    this.#catchUpAlone(reader);
  }

  /** Reads what is new from the store. A call while it reads makes it read again. */
  look(): void {
    this.#lookAgain = true;
    if (this.#isLooking || this.#live.size === 0) return;
    this.#isLooking = true;
    // The store could not be read: the readers reconnect with their last id.
    this.#deliver()
      .catch(() => {
        for (const { raw } of this.#live) raw.destroy();
      })
      .finally(() => {
        this.#isLooking = false;
        if (this.#lookAgain && this.#live.size > 0) this.look();
      });
  }

  /** Keeps idle connections open. A reader that has not read what waits for it is not idle. */
  comment(): void {
    for (const { raw } of this.#all)
      if (isOpen(raw) && raw.writableLength === 0) raw.write(":\n\n");
  }

  /** Ends all streams; their readers may reconnect. */
  endAll(): void {
    this.#live.clear();
    for (const { raw } of this.#all) raw.end();
  }

  #catchUpAlone(reader: Reader): void {
    this.#catchUp(reader).catch(() => reader.raw.destroy());
  }

  /** Sends one page after the reader has read the one before; live at the end. */
  async #catchUp(reader: Reader): Promise<void> {
    const { raw } = reader;
    while (isOpen(raw)) {
      if (raw.writableNeedDrain) await drained(raw);
      const reached = this.#position;
      const { logs, isLast } = await readLog(this.#context, this.#job, reader.position);
      if (!isOpen(raw)) return;
      this.#give(reader, logs, joined(logs));
      // The end of the log, unless the live readers got more while it was read.
      if (isLast && !raw.writableNeedDrain && this.#position === reached) {
        // Without a live reader, nothing else records the position.
        if (this.#live.size === 0) this.#position = Math.max(reached, reader.position);
        reader.position = Math.max(reached, reader.position);
        this.#live.add(reader);
        return this.look();
      }
    }
  }

  async #deliver(): Promise<void> {
    const { store } = this.#context;
    while (this.#lookAgain && this.#live.size > 0) {
      this.#lookAgain = false;
      // The job is read before its log, because a runner posts the log before it reports the end.
      const job = await store.read.first(findJob, { id: this.#job });
      if (!job) return this.endAll();
      const progress = JSON.stringify(await viewProgress(this.#context, job));
      const status = event("status", progress);
      for (const reader of this.#live) {
        if (reader.progress === progress) continue;
        reader.progress = progress;
        if (isOpen(reader.raw)) reader.raw.write(status);
      }
      await this.#deliverLog();
      if (hasEnded(job) && !isHeld(job)) this.#end(progress);
    }
  }

  async #deliverLog(): Promise<void> {
    for (;;) {
      const { logs, isLast } = await readLog(this.#context, this.#job, this.#position);
      const bytes = joined(logs);
      for (const reader of this.#live) {
        if (reader.raw.writableLength <= behindLimit) this.#give(reader, logs, bytes);
        else {
          this.#live.delete(reader);
          this.#catchUpAlone(reader);
        }
      }
      this.#position = Math.max(this.#position, logs.at(-1)?.id ?? 0);
      if (isLast) return;
      // Lets sockets send between two pages; otherwise every reader would seem to be behind.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Writes the part of a page that the reader does not have; `bytes` is the whole page. */
  #give(reader: Reader, page: readonly LogChunk[], bytes: Buffer): void {
    const first = page[0];
    const last = page.at(-1);
    if (!first || !last || last.id <= reader.position) return;
    const isWhole = first.id > reader.position;
    const part = isWhole ? bytes : joined(page.filter(({ id }) => id > reader.position));
    reader.position = last.id;
    if (isOpen(reader.raw)) reader.raw.write(part);
  }

  #end(progress: string): void {
    const end = event("end", progress);
    for (const reader of this.#live) {
      this.#live.delete(reader);
      if (isOpen(reader.raw)) reader.raw.write(end);
      reader.raw.end();
    }
  }
}

const event = (name: string, data: string): Buffer =>
  Buffer.from(`event: ${name}\ndata: ${data}\n\n`);

const isOpen = (raw: StreamReader): boolean => !raw.destroyed && !raw.writableEnded;

/** The events of a page, to be written at once. */
const joined = (page: readonly LogChunk[]): Buffer =>
  Buffer.from(
    page.map((chunk) => `id: ${chunk.id}\nevent: log\ndata: ${JSON.stringify(chunk)}\n\n`).join(""),
  );

function drained(raw: StreamReader): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off("drain", done);
      raw.off("close", done);
      resolve();
    };
    raw.once("drain", done);
    raw.once("close", done);
  });
}
