/** The parts of a job's log in order, in `log.ndjson`: lines of the agent and outputs of runs. */
import { join } from "node:path";
import type { LogStep } from "../../protocol/jobs.ts";
import { isDiskFull, openNdjson, type Ndjson } from "./ndjson.ts";

type Line = SystemLine | { readonly run: string } | { readonly ended: string };

/** A line of the agent, or a mark without text: a step of the job starts or ends here. */
interface SystemLine {
  readonly system: string;
  readonly step?: LogStep;
}

export type Source =
  | SystemLine
  /** `ended`: nothing more will be written to its files. */
  | { readonly run: string; ended: boolean };

export class Sources {
  readonly list: Source[] = [];
  readonly #file: Ndjson<Line>;
  #unsaved: Line[] = [];

  constructor(directory: string) {
    this.#file = openNdjson(join(directory, "log.ndjson"), (line) => this.#apply(line));
  }

  system(text: string, step?: LogStep): void {
    this.#append({ system: text, ...(step ? { step } : {}) });
  }

  /** Adds a run; a known one keeps its place. */
  run(name: string): void {
    if (!this.find(name)) this.#append({ run: name });
  }

  end(name: string): void {
    if (this.find(name)?.ended === false) this.#append({ ended: name });
  }

  find(name: string): Extract<Source, { run: string }> | undefined {
    return this.list.find(
      (source): source is Extract<Source, { run: string }> =>
        "run" in source && source.run === name,
    );
  }

  /** Whether one of these runs comes after this one. */
  isFollowed(name: string, runs: ReadonlySet<string>): boolean {
    const at = this.list.findIndex((source) => "run" in source && source.run === name);
    return this.list.slice(at + 1).some((source) => "run" in source && runs.has(source.run));
  }

  /** Writes the lines that a full disk refused before. Throws as long as the disk is full. */
  save(): void {
    if (this.#unsaved.length === 0) return;
    this.#file.append(this.#unsaved);
    this.#unsaved = [];
  }

  close(): void {
    this.#file.close();
  }

  #append(line: Line): void {
    this.#apply(line);
    this.#unsaved.push(line);
    try {
      this.save();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      // A job must not fail because a line about it could not be stored. The line waits in memory,
      // and nothing after it is sent until it is saved, because the numbers of chunks refer to it.
    }
  }

  #apply(line: Line): void {
    if ("ended" in line) {
      const source = this.find(line.ended);
      if (source) source.ended = true;
    } else this.list.push("run" in line ? { run: line.run, ended: false } : line);
  }
}
