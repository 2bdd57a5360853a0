/** A commit costs a disk flush, so one turn shares it (docs/decisions.md, "Group commit"). */
import type { Queries, ShareOptions } from "../db.ts";
import { asSystem, currentSpaces, inSpaces } from "../spaces.ts";

/** The queries of a transaction, with what tells whether a change wrote or failed. */
export interface WritingQueries extends Queries {
  /** How many statements that can write have run. */
  readonly writes: number;
  /** Whether the transaction accepts nothing but a rollback. */
  readonly hasFailed?: boolean;
}

export interface Change {
  /** Returns false when it failed half way: something of it is written and must be undone. */
  run(queries: WritingQueries): Promise<boolean>;
  error(): unknown;
  settle(commitError?: unknown): void;
  /** The id of the row that it locks first; empty: of none. */
  readonly row: string;
  readonly mayWait: boolean;
  readonly isAlone: boolean;
}

/** A change waits for so many turns of the event loop at most, in each of which others came. */
const turnsTogether = 4;

/** As many changes that may wait share a commit: thousands would make it long. */
const enough = 16;

/**
 * Heartbeats and small posts of logs come at any moment. With those of 2,000 runners, a server takes
 * 0.81 times as much CPU time as with half of it, and 0.80 times as much as without on PostgreSQL
 * (bench/scaling.ts).
 */
export const gapMilliseconds = 20;

export interface GroupCommitOptions {
  /** How many changes may share a transaction. Default: any number. */
  readonly most?: number;
  /** Pause between commits of changes that may wait; default 0. */
  readonly gapMilliseconds?: number;
}

export class GroupCommit {
  readonly #commit: (changes: readonly Change[]) => Promise<unknown>;
  readonly #most: number;
  readonly #gap: number;
  #lastWaited = -Infinity;
  #hurry: (() => void) | undefined;
  #queue: Change[] = [];
  #committing: Promise<void> | undefined;
  #closed = false;

  /** Resolves with the error of the commit itself; then nothing of the changes happened. */
  constructor(
    commit: (changes: readonly Change[]) => Promise<unknown>,
    { most = Infinity, gapMilliseconds = 0 }: GroupCommitOptions = {},
  ) {
    this.#commit = commit;
    this.#most = most;
    this.#gap = gapMilliseconds;
  }

  /** Resolves after the commit of the transaction in which `change` ran. */
  write<T>(
    change: (tx: Queries) => Promise<T>,
    { row = "", mayWait = false, isAlone = false }: ShareOptions & { isAlone?: boolean } = {},
  ): Promise<T> {
    if (this.#closed) return Promise.reject(new Error("the store is closed"));
    // For the spaces of its caller (store/spaces.ts), not for those of the first change of a round.
    const spaces = currentSpaces();
    const bound = spaces ? (tx: Queries) => inSpaces(spaces, () => change(tx)) : change;
    return new Promise<T>((resolve, reject) => {
      let outcome: { value: T } | { error: unknown };
      this.#queue.push({
        row,
        mayWait,
        isAlone,
        run: async (queries) => {
          const before = queries.writes;
          try {
            outcome = { value: await bound(queries) };
            if (queries.hasFailed === true) throw new Error("a statement of the change failed");
          } catch (error) {
            outcome = { error };
            return queries.writes === before && queries.hasFailed !== true;
          }
          return true;
        },
        error: () => ("error" in outcome ? outcome.error : undefined),
        settle: (commitError) => {
          if (commitError !== undefined) reject(commitError);
          else if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.value);
        },
      });
      if (!mayWait || this.#queue.length >= enough) this.#hurry?.();
      this.#committing ??= asSystem(() => this.#commitSoon());
    });
  }

  /** After this, writes are refused; resolves when those under way are committed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#hurry?.();
    while (this.#committing) await this.#committing;
  }

  /** Takes all of this turn of the event loop, and the next ones as long as each brings more. */
  async #commitSoon(): Promise<void> {
    await this.#waitForMore();
    let before: number;
    let turns = 0;
    do {
      before = this.#queue.length;
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    } while (this.#queue.length > before && turns < turnsTogether);
    const changes = this.#queue.splice(0, Math.min(this.#most, this.#together()));
    const error = await this.#commit(changes);
    if (changes.some(({ mayWait }) => mayWait)) this.#lastWaited = performance.now();
    // Before settling, so that a write made by a settled one starts the next round.
    this.#committing = this.#queue.length > 0 ? this.#commitSoon() : undefined;
    for (const change of changes) change.settle(error);
  }

  /** How many changes share the next commit: one that takes long has its own. */
  #together(): number {
    const alone = this.#queue.findIndex(({ isAlone }) => isAlone);
    return alone < 0 ? Infinity : Math.max(1, alone);
  }

  /** Waits as long as all changes of the queue may wait, and the last of them were just committed. */
  async #waitForMore(): Promise<void> {
    const left = this.#lastWaited + this.#gap - performance.now();
    if (left <= 0 || this.#closed || this.#queue.length >= enough) return;
    if (!this.#queue.every(({ mayWait }) => mayWait)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, left);
    this.#hurry = resolve;
    await promise;
    this.#hurry = undefined;
    clearTimeout(timer);
  }
}
