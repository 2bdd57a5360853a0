/**
 * Records which numbers were given to which parts of the log. Written before a chunk is sent, so
 * that after a crash the same parts are sent under the same numbers. The server stores each number
 * once, and so each part once. Kept in `shipped.ndjson`.
 *
 * The record survives a kill of the agent. After a power failure its last lines may be missing
 * although the server has those chunks; terraform has ended then as well, and the job is reported
 * as such.
 */
import { join } from "node:path";
import type { LogResource, StreamType } from "../../protocol/jobs.ts";
import { isDiskFull, openNdjson, type Ndjson } from "./ndjson.ts";

/** One chunk: a range of a run's file, or a line of the agent. */
export interface Entry {
  readonly seq: number;
  /** Index of the source. */
  readonly at: number;
  readonly stream: StreamType;
  readonly from?: number;
  readonly to?: number;
  /** See `Cut`; absent means 0. */
  readonly skip?: number;
  readonly tail?: number;
  readonly carry?: number;
  /** The resource whose change starts or ends with its first line. */
  readonly resource?: LogResource;
  /** A line that is in no source: how much of the run's output was dropped. */
  readonly text?: string;
}

type Line = Entry | { readonly ack: number };

export class Offsets {
  /** The last number that was given. */
  lastSeq = 0;
  /** All numbers up to this one are stored at the server. */
  acknowledged = 0;
  readonly #file: Ndjson<Line>;

  constructor(directory: string) {
    this.#file = openNdjson(join(directory, "shipped.ndjson"));
    for (const line of this.#file.read()) {
      if ("ack" in line) this.acknowledged = line.ack;
      else this.lastSeq = line.seq;
    }
  }

  entries(): Entry[] {
    return this.#file.read().filter((line) => "seq" in line);
  }

  /** Records chunks that are about to be sent. */
  add(entries: readonly Entry[]): void {
    this.#file.append(entries);
    this.lastSeq = entries.at(-1)?.seq ?? this.lastSeq;
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
}
