import { JournalError, type Journal, type StopReason } from "./journal.ts";

/** Remembers in the journal why and when a job must stop, so that a restart does not forget it. */
export class JobStop {
  readonly #controller = new AbortController();
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
    const before = journal.find("stopping");
    if (before) this.#controller.abort(before.reason);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  request(reason: StopReason): void {
    if (this.signal.aborted) return;
    try {
      if (!this.#journal.find("reported")) this.#journal.append({ at: "stopping", reason });
    } catch (error) {
      // On a full disk, the job is stopped without the entry.
      if (!(error instanceof JournalError)) throw error;
    }
    this.#controller.abort(reason);
  }
}
