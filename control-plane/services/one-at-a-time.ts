/** Heavy work that users ask for: one piece at a time on this server, and few waiting for each user. */
import { RefusalError } from "../domain/refusal.ts";

export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();
  /** What runs or waits, by user. */
  readonly #open = new Map<string, number>();
  readonly #perUser: number;
  readonly #refusal: string;

  constructor(perUser: number, refusal: string) {
    this.#perUser = perUser;
    this.#refusal = refusal;
  }

  /** Works after what was asked for before. Throws 429 if the user has too much open. */
  async run<T>(user: string, work: () => Promise<T>): Promise<T> {
    const mine = this.#open.get(user) ?? 0;
    if (mine >= this.#perUser)
      throw new RefusalError("too_many_requests", this.#refusal, {}, { "retry-after": "5" });
    this.#open.set(user, mine + 1);
    try {
      const done = this.#last.then(work);
      this.#last = done.catch(() => undefined);
      return await done;
    } finally {
      const left = (this.#open.get(user) ?? 1) - 1;
      if (left === 0) this.#open.delete(user);
      else this.#open.set(user, left);
    }
  }
}
