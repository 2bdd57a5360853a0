// @ts-check
/**
 * Some lines of a log. Near the visible part they are elements with numbers and colours (awake);
 * elsewhere they are one text (asleep), so that the browser's search and copy work on the whole log
 * and a line outside the view costs only its characters.
 */

import { logTime } from "./times.js";

/** The lines of a block. Making elements of as many is a matter of a few milliseconds. */
export const blockSize = 200;

export class Block {
  element = document.createElement("div");
  /** The text of its lines as far as they are drawn, without colours. */
  text = "";
  /**
   * What was added since. Joined in one go: a text that grows piece by piece keeps all its pieces.
   * @type {string[]}
   */
  #added = [];
  #length = 0;
  lines = 0;
  isAwake = false;
  /** Whether it is near the visible part; null until that is known. @type {boolean | null} */
  isNear = null;
  /**
   * Which stretches of the text have a look: begin, end, classes, in turn. @type {(number |
   * string)[]}
   */
  #looks = [];
  /**
   * From which line on a stream and a second hold. @type {{ line: number, stream: string, second:
   * number }[]}
   */
  #heads = [];
  /** Where drawing goes on: at the last line that is drawn, because it may have grown. */
  #next = { line: 0, at: 0, look: 0, head: 0 };
  /** The first and the last marked line. */
  #marked = [-1, -1];

  /** @param {number} before the lines of the log before it */
  constructor(before) {
    this.before = before;
    this.element.className = "block asleep";
  }

  /** Begins a line. @param {string} stream @param {number} second */
  begin(stream, second) {
    if (this.lines > 0) this.append("\n", "");
    const head = this.#heads.at(-1);
    if (head?.stream !== stream || head.second !== second)
      this.#heads.push({ line: this.lines, stream, second });
    this.lines += 1;
  }

  /** Adds to the last line. @param {string} text @param {string} look */
  append(text, look) {
    this.#added.push(text);
    const begin = this.#length;
    this.#length += text.length;
    if (look !== "") this.#looks.push(begin, this.#length, look);
  }

  wake() {
    if (this.isAwake) return;
    this.isAwake = true;
    this.repaint();
  }

  /** Makes the elements of its lines, if it has any, anew. */
  repaint() {
    if (!this.isAwake) return;
    this.element.className = "block";
    this.element.replaceChildren();
    this.#next = { line: 0, at: 0, look: 0, head: 0 };
    this.draw();
  }

  sleep() {
    if (!this.isAwake) return;
    this.isAwake = false;
    this.element.className = "block asleep";
    this.draw();
  }

  draw() {
    this.text += this.#added.join("");
    this.#added = [];
    if (this.isAwake) this.#drawLines();
    else this.element.textContent = this.text;
  }

  #drawLines() {
    const next = this.#next;
    this.element.children[next.line]?.remove();
    for (;;) {
      const end = this.text.indexOf("\n", next.at);
      const isLast = end < 0;
      const begun = { ...next };
      this.element.append(this.#paint(isLast ? this.text.length : end));
      if (isLast) {
        this.#next = begun;
        return;
      }
      next.line += 1;
      next.at = end + 1;
    }
  }

  /** The line that begins where drawing stands. @param {number} end */
  #paint(end) {
    const next = this.#next;
    const line = document.createElement("div");
    // Not a CSS counter: `content-visibility` keeps a counter within its block.
    line.dataset["line"] = String(this.before + next.line + 1);
    while ((this.#heads[next.head + 1]?.line ?? Infinity) <= next.line) next.head += 1;
    const head = this.#heads[next.head];
    const said = this.#heads[next.head - 1]?.second;
    if (head && head.stream !== "STDOUT") line.classList.add(head.stream);
    if (head?.line === next.line && head.second !== said)
      line.dataset["time"] = logTime(head.second);
    if (this.#isMarked(next.line)) line.classList.add("marked");
    let at = next.at;
    for (; Number(this.#looks[next.look] ?? Infinity) < end; next.look += 3) {
      const [from, to, look] = this.#looks.slice(next.look, next.look + 3);
      if (at < Number(from)) line.append(this.text.slice(at, Number(from)));
      const span = document.createElement("span");
      span.className = String(look);
      span.textContent = this.text.slice(Number(from), Number(to));
      line.append(span);
      at = Number(to);
    }
    if (at < end) line.append(this.text.slice(at, end));
    return line;
  }

  /**
   * The element of a line, counted from 0; wakes it. @param {number} index @returns {HTMLElement}
   */
  line(index) {
    this.wake();
    return /** @type {HTMLElement} */ (this.element.children[index]);
  }

  /**
   * Marks the lines from one to another, counted from 0; -1 is none. @param {number} from @param
   * {number} to
   */
  mark(from, to) {
    this.#marked = [from, to];
    if (!this.isAwake) return;
    for (const [index, line] of [...this.element.children].entries())
      line.classList.toggle("marked", this.#isMarked(index));
  }

  /** @param {number} index */
  #isMarked(index) {
    const [from = -1, to = -1] = this.#marked;
    return index >= from && index <= to;
  }
}
