/** Wakes the one loop that waits, also if the notification comes before the wait. */
export class Notifier {
  #isNotified = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isNotified = true;
    this.#wake?.();
  }

  /** Waits for a notification, at most `limit` milliseconds. */
  async wait(limit: number): Promise<void> {
    if (!this.#isNotified) {
      await new Promise<void>((resolve) => {
        const timer = Number.isFinite(limit) ? setTimeout(resolve, limit) : undefined;
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#isNotified = false;
  }
}
