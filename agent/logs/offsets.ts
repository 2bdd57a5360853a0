/**
 * Records in `shipped.ndjson`, before a chunk is sent, which number a part of the log gets: after a
 * crash it is sent under the same number, which the server stores once. A power failure may lose
 * the last lines; terraform has ended then as well, and the job is reported as such.
 */
import { join } from "node:path";
import type { LogResource, StreamType } from "../../protocol/jobs.ts";
import { isDiskFull, openNdjson, type Ndjson } from "./ndjson.ts";
import { kibibyte, mebibyte } from "../../common/units.ts";

/** The size of a chunk: large enough to need few of them, small enough for a page that shows it. */
export const chunkBytes = 32 * kibibyte;

/** One chunk: a range of a run's file, or a line of the agent. */
export interface Entry {
  readonly seq: number;
  /** The numbers, up to this one, of which it has the range; absent means 1. */
  readonly count?: number;
  /** Index of the source. */
  readonly at: number;
  readonly stream: StreamType;
  readonly from?: number;
  readonly to?: number;
  /** See `Cut`; absent means 0. */
  readonly skip?: number;
  readonly tail?: number;
  readonly carry?: number;
  /** The `released` of the chunk before it. */
  readonly context?: number;
  readonly released?: number;
  /** The resource whose change starts or ends with its first line. */
  readonly resource?: LogResource;
  /** A line that is in no source: how much of the run's output was dropped. */
  readonly text?: string;
}

type Line = Entry | { readonly ack: number };

/** The record is compacted each time that it has grown by so many bytes. */
const growth = mebibyte;

export class Offsets {
  /** The last number that was given. */
  lastSeq = 0;
  /** All numbers up to this one are stored at the server. */
  acknowledged = 0;
  /** What an earlier process has sent, or was about to send, and the server has not acknowledged. */
  readonly unacknowledged: readonly Entry[];
  readonly #file: Ndjson<Line>;
  #compactAt = growth;

  constructor(directory: string) {
    let open: Entry[] = [];
    this.#file = openNdjson(join(directory, "shipped.ndjson"), (line) => {
      if ("ack" in line) {
        this.acknowledged = line.ack;
        open = open.filter(({ seq }) => seq > line.ack);
      } else {
        this.lastSeq = line.seq;
        open.push(line);
      }
    });
    this.unacknowledged = open;
    this.#compact();
  }

  /** Reads them from the disk: a log may have more than fit into memory. */
  *entries(): Generator<Entry, void> {
    for (const line of this.#file.read()) if ("seq" in line) yield line;
  }

  /** Records chunks that are about to be sent. */
  add(entries: readonly Entry[]): void {
    this.#file.append(entries);
    this.lastSeq = entries.at(-1)?.seq ?? this.lastSeq;
    this.#compact();
  }

  acknowledge(seq: number): void {
    if (seq <= this.acknowledged) return;
    this.acknowledged = seq;
    try {
      this.#file.append([{ ack: seq }]);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      // Without this line, a restarted agent sends the chunk once more, and the server skips it.
    }
  }

  close(): void {
    this.#file.close();
  }

  #compact(): void {
    if (this.#file.size < this.#compactAt) return;
    try {
      this.#file.replace(this.#compacted());
    } catch {
      // The record is as it was, only longer.
    }
    this.#compactAt = this.#file.size + growth;
  }

  *#compacted(): Generator<Line, void> {
    yield* joined(this.entries(), this.acknowledged);
    if (this.acknowledged > 0) yield { ack: this.acknowledged };
  }
}

/**
 * Joins neighbouring acknowledged chunks of a run to full ones, so that the record grows with the
 * log and not with its age. If the server loses them, it gets their text under the first number.
 */
export function* joined(entries: Iterable<Entry>, acknowledged: number): Generator<Entry, void> {
  let group: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const { at, from = 0, to = 0 } = entry;
    const isOutput = entry.stream !== "SYSTEM" && !entry.resource && entry.seq <= acknowledged;
    if (!isOutput || group[0]?.at !== at || bytes + to - from > chunkBytes) {
      yield* numbered(group);
      [group, bytes] = [[], 0];
    }
    if (!isOutput) {
      yield entry;
      continue;
    }
    bytes += to - from;
    const index = group.findIndex(({ stream }) => stream === entry.stream);
    const before = group[index];
    if (before) group[index] = joinOf(before, entry);
    else group.push(entry);
  }
  yield* numbered(group);
}

/** The range of two neighbouring chunks of one stream: what lies before it is that of the first. */
function joinOf(first: Entry, second: Entry): Entry {
  const { skip: _, context: __, ...end } = second;
  const { from, skip, context } = first;
  const start = {
    ...(from === undefined ? {} : { from }),
    ...(skip === undefined ? {} : { skip }),
    ...(context === undefined ? {} : { context }),
  };
  return { ...end, ...start, count: countOf(first) + countOf(second) };
}

/** Gives the numbers of a group first to the one stream and then to the other. */
function* numbered(group: readonly Entry[]): Generator<Entry, void> {
  const count = group.reduce((sum, entry) => sum + countOf(entry), 0);
  let seq = Math.max(...group.map((entry) => entry.seq)) - count;
  for (const entry of group) yield { ...entry, seq: (seq += countOf(entry)) };
}

export const countOf = ({ count = 1 }: Pick<Entry, "count">): number => count;
