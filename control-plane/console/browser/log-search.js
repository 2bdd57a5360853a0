// @ts-check
/** Search in a log of any length, a slice at a time so that the page never stands still. */

const linesPerSlice = 5000;

export class LogSearch {
  #lines;
  #show;
  /** @type {number[]} */
  #found = [];
  #at = -1;
  #run = 0;

  /**
   * @param {import("./log-lines.js").LogLines} lines
   * @param {(line: number | null, said: string) => void} show
   */
  constructor(lines, show) {
    this.#lines = lines;
    this.#show = show;
  }

  /** Finds all lines that hold the text, in capitals or not. @param {string} text */
  async find(text) {
    const run = (this.#run += 1);
    const wanted = text.toLowerCase();
    this.#found = [];
    this.#at = -1;
    if (wanted === "") return this.#show(null, "");
    for (let from = this.#lines.dropped + 1; from <= this.#lines.count; from += linesPerSlice) {
      const to = Math.min(this.#lines.count, from + linesPerSlice - 1);
      for (let number = from; number <= to; number += 1)
        if (this.#lines.line(number)?.textContent.toLowerCase().includes(wanted))
          this.#found.push(number);
      if (this.#at < 0 && this.#found.length > 0) this.step(1);
      await new Promise((resolve) => setTimeout(resolve));
      if (run !== this.#run) return;
    }
    if (this.#found.length === 0) this.#show(null, "not found");
    else this.#say();
  }

  /** Goes to the next (1) or previous (-1) line. @param {1 | -1} by */
  step(by) {
    const { length } = this.#found;
    if (length === 0) return;
    this.#at = (this.#at + by + length) % length;
    this.#say();
  }

  #say() {
    const said = `${this.#at + 1} of ${this.#found.length} lines`;
    this.#show(this.#found[this.#at] ?? null, said);
  }
}
