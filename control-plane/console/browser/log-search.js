// @ts-check
/** Search in a log of any length, a slice at a time so that the page never stands still. */

/** Searching goes on after the page had its turn, every so many milliseconds. */
const turnMilliseconds = 10;

export class LogSearch {
  #lines;
  #show;
  #wanted = "";
  /** @type {number[]} */
  #found = [];
  #at = -1;
  /** The line that was not looked at yet. */
  #next = 1;
  #run = 0;

  /**
   * @param {import("./log-lines.js").LogLines} lines
   * @param {(line: number | null, said: string, wanted: string) => void} show gets the line to go to,
   * and the text in small letters
   */
  constructor(lines, show) {
    this.#lines = lines;
    this.#show = show;
  }

  /** Finds all lines that hold the text, in capitals or not. @param {string} text */
  async find(text) {
    this.#wanted = text.toLowerCase();
    this.#found = [];
    this.#at = -1;
    this.#next = this.#lines.dropped + 1;
    this.#run += 1;
    if (this.#wanted === "") this.#show(null, "", "");
    else await this.#look(1);
  }

  /**
   * Goes to the next (1) or previous (-1) line, of those too that came since. @param {1 | -1} by
   */
  async step(by) {
    if (this.#wanted !== "") await this.#look(by);
  }

  /** @param {1 | -1} by */
  async #look(by) {
    const run = this.#run;
    let begun = performance.now();
    while (this.#next <= this.#lines.finished) {
      const { found, next } = this.#lines.search(
        this.#wanted,
        Math.max(this.#next, this.#lines.dropped + 1),
      );
      this.#found.push(...found);
      this.#next = next;
      if (performance.now() - begun < turnMilliseconds) continue;
      await new Promise((resolve) => setTimeout(resolve));
      if (run !== this.#run) return;
      begun = performance.now();
    }
    const { length } = this.#found;
    if (length === 0) return this.#show(null, "not found", "");
    this.#at = this.#at < 0 && by < 0 ? length - 1 : (this.#at + by + length) % length;
    const lines = length === 1 ? "line" : "lines";
    const said = `${this.#at + 1} of ${length.toLocaleString("en")} ${lines}`;
    this.#show(this.#found[this.#at] ?? null, said, this.#wanted);
  }
}
