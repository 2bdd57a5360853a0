/** Cuts the sources of a log into chunks, in order: nothing comes before an earlier source ends. */
import { join } from "node:path";
import type { LogStep } from "../../protocol/jobs.ts";
import { chunkBytes, type Entry } from "./offsets.ts";
import type { Redactor } from "../../common/redaction/redactor.ts";
import { nextMark, ResourceLines } from "./resource-lines.ts";
import type { Sources } from "./sources.ts";
import { readPiece, Spool, type Positions } from "./spool.ts";

export interface ChunkerOptions {
  /** The directory `jobs/<id>`. */
  readonly directory: string;
  readonly sources: Sources;
  /** The chunks of an earlier process. */
  readonly entries: Iterable<Entry>;
  readonly redactor: () => Redactor;
  readonly volumeLimit: number;
  /** Only the number of bytes of output is sent. */
  readonly isWithheld: boolean;
  /** The time for the marks of resources; undefined for a server of the published interface. */
  readonly time: ((run: string) => string) | undefined;
  /** Whether nothing more will be written to this run's files. */
  isEnded(run: string): boolean;
}

/** A chunk: its record, except for the number, and its text. */
export interface Chunk {
  readonly entry: Omit<Entry, "seq">;
  readonly text: string;
  readonly step?: LogStep | undefined;
}

export class Chunker {
  readonly #options: ChunkerOptions;
  /** The index of the source that is being read. */
  #at = 0;
  #spool: Spool | undefined;
  #positions = atStart();
  /** The bytes of output that may still be shipped. */
  #room: number;
  readonly #resources = new ResourceLines();
  /** Chunks that ended early, before a line about a resource. */
  #marks = 0;

  constructor(options: ChunkerOptions) {
    this.#options = options;
    this.#room = options.isWithheld ? 0 : options.volumeLimit;
    for (const entry of options.entries) this.#replay(entry);
  }

  /** Whether all sources are cut to their end. */
  get done(): boolean {
    return this.#at >= this.#options.sources.list.length;
  }

  /** Returns about how many bytes wait to be cut. Sources after the current one are not counted. */
  waiting(): number {
    const source = this.#options.sources.list[this.#at];
    if (!source) return 0;
    if ("system" in source) return Buffer.byteLength(source.system) + 1;
    // Checked before the files are read: what an ended run wrote is complete if it is read after
    // the end.
    const ended = this.#options.isEnded(source.run);
    const bytes = this.#open(source.run).look(ended);
    // The end of a source is progress even without a byte, because the next source may be waiting.
    return this.#room === 0 && !ended ? 0 : Math.max(bytes, ended ? 1 : 0);
  }

  /** Returns the next chunk of what `waiting` has seen, or undefined until something changes. */
  take(): Chunk | undefined {
    for (;;) {
      const source = this.#options.sources.list[this.#at];
      if (!source) return undefined;
      if ("system" in source) {
        const { system, step } = source;
        return { entry: { at: this.#at++, stream: "SYSTEM" }, text: lineOf(system), step };
      }
      const spool = this.#open(source.run);
      spool.look(this.#options.isEnded(source.run));
      const chunk = this.#room > 0 ? this.#piece(spool, source.run) : undefined;
      if (chunk) return chunk;
      if (!spool.ended) return undefined;
      const dropped = spool.left;
      const at = this.#at;
      this.#next(at + 1);
      if (dropped === 0) continue;
      const text = this.#lossText(source.run, dropped);
      return { entry: { at, stream: "SYSTEM", text }, text };
    }
  }

  /** Returns the text of a chunk that an earlier process has cut. */
  textOf(entry: Entry): string {
    if (entry.text !== undefined) return entry.text;
    const source = this.#options.sources.list[entry.at];
    if (!source) throw new Error(`chunk ${entry.seq} of the log refers to source ${entry.at}`);
    if ("system" in source) return lineOf(source.system);
    if (this.#options.isWithheld) return "";
    const { stream, from = 0, to = 0, skip = 0, tail = 0, context = 0 } = entry;
    if (stream === "SYSTEM") throw new Error(`chunk ${entry.seq} of the log has no text`);
    const piece = { stream, from, to, skip, tail, context };
    return readPiece(this.#directoryOf(source.run), this.#options.redactor(), piece);
  }

  /** Returns the step that starts or ends with a chunk that an earlier process has cut. */
  stepOf({ at, text }: Entry): LogStep | undefined {
    const source = text === undefined ? this.#options.sources.list[at] : undefined;
    return source && "system" in source ? source.step : undefined;
  }

  /** Frees the disk space of output beyond the log's limit. */
  release(): void {
    this.#spool?.release(this.#room);
  }

  /** Calls once when the current run may have written. True: the caller must check once more. */
  watch(onChange: () => void): boolean {
    return this.#spool?.watch(onChange) ?? false;
  }

  /** Milliseconds until output that is held back is released. */
  get untilRelease(): number {
    return this.#room > 0 && this.#spool ? this.#spool.untilRelease : Infinity;
  }

  close(): void {
    this.#spool?.close();
    this.#spool = undefined;
  }

  #piece(spool: Spool, run: string): Chunk | undefined {
    const limit = Math.min(chunkBytes, this.#room);
    const { time } = this.#options;
    const isMarked = time !== undefined && run.endsWith("-apply");
    const piece = spool.take(this.#options.redactor(), limit, isMarked ? this.#toMark : wholePiece);
    if (!piece) {
      // A few bytes are left, but the next character or masked region does not fit: the log is
      // full.
      if (this.#room < chunkBytes && spool.left > this.#room) this.#room = 0;
      return undefined;
    }
    const { stream, from, to, skip, tail, carry, context, released, text } = piece;
    this.#room -= to - from;
    const marks = {
      ...(skip > 0 ? { skip } : {}),
      ...(tail > 0 ? { tail } : {}),
      ...(carry > 0 ? { carry } : {}),
      ...(context > 0 ? { context } : {}),
      ...(released > 0 ? { released } : {}),
    };
    const said = isMarked ? this.#resources.read(text, stream) : undefined;
    const resource = said && time ? { resource: { ...said, at: time(run) } } : {};
    return { entry: { at: this.#at, stream, from, to, ...marks, ...resource }, text };
  }

  readonly #toMark: typeof nextMark = (bytes, stream) => {
    const end = this.#marks < markLimit ? nextMark(bytes, stream) : bytes.length;
    // Counted also if nothing is marked there, because a provisioner can print such lines.
    if (end < bytes.length) this.#marks++;
    return end;
  };

  #lossText(run: string, bytes: number): string {
    const { volumeLimit: limit, isWithheld } = this.#options;
    if (isWithheld)
      return `[${bytes} bytes of the output of ${run} are held back here: not all secrets to mask in them are known]\n`;
    return `[${bytes} bytes of the output of ${run} were dropped here: a job's log is limited to ${limit} bytes]\n`;
  }

  #open(run: string): Spool {
    return (this.#spool ??= new Spool(this.#directoryOf(run), this.#positions));
  }

  #directoryOf(run: string): string {
    return join(this.#options.directory, "runs", run);
  }

  #next(at: number): void {
    this.close();
    this.#at = at;
    this.#positions = atStart();
  }

  #replay({ at, stream, from = 0, to = 0, carry = 0, released = 0, resource }: Entry): void {
    if (resource) {
      this.#marks++;
      this.#resources.apply(resource);
    }
    if (at !== this.#at) this.#next(at);
    if (stream === "SYSTEM") this.#next(at + 1);
    else {
      this.#positions[stream] = { position: to, carry, released };
      this.#room = Math.max(0, this.#room - (to - from));
    }
  }
}

/** Chunks of one log that may end early; later lines about resources are only text. */
const markLimit = 4000;

const wholePiece = (bytes: Buffer): number => bytes.length;

/** The mark of a step adds nothing to what users read. */
const lineOf = (text: string): string => (text === "" ? "" : `${text}\n`);

const atStart = (): Positions => ({
  STDOUT: { position: 0, carry: 0, released: 0 },
  STDERR: { position: 0, carry: 0, released: 0 },
});
