/** A chunk may end within a line whose rest comes after chunks of other streams. */
import { kibibyte } from "../../../common/units.ts";
import type { LogChunk, StreamType } from "../../../protocol/jobs.ts";

/** How many characters of an unfinished line are held back; a longer one is returned in parts. */
const heldAtMost = 256 * kibibyte;

export class WholeLines {
  readonly #held = new Map<StreamType, string>();
  /** The stream whose line was returned without its end, because it is too long. */
  #broken: StreamType | undefined;

  add({ log_chunk, stream_type }: Pick<LogChunk, "log_chunk" | "stream_type">): string {
    const text = (this.#held.get(stream_type) ?? "") + log_chunk;
    const isTooLong = text.length - text.lastIndexOf("\n") > heldAtMost;
    const end = isTooLong ? text.length : text.lastIndexOf("\n") + 1;
    this.#held.set(stream_type, text.slice(end));
    return this.#return(stream_type, text.slice(0, end));
  }

  /** Returns the unfinished lines, each on a line of its own. */
  end(): string {
    const rest = [...this.#held].map(([stream, text]) => this.#return(stream, text)).join("");
    this.#held.clear();
    return rest;
  }

  #return(stream: StreamType, text: string): string {
    if (text === "") return "";
    const isBroken = this.#broken !== undefined && this.#broken !== stream;
    this.#broken = text.endsWith("\n") ? undefined : stream;
    return isBroken ? `\n${text}` : text;
  }
}
