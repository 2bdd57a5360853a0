// @ts-check
/**
 * Shows a log as lines, in blocks that are elements only near the visible part. A chunk may end
 * within a line, and the rest of the line may come after chunks of other streams. Each stream
 * therefore has one unfinished line, which stands below the finished ones until it ends.
 */
import { Block, blockSize } from "./log-block.js";
import { Painter } from "./log-painter.js";

/** @typedef {import("./log-stream.js").Chunk} Chunk */
/**
 * @typedef {object} OpenLine
 * @property {import("./log-painter.js").Piece[]} pieces
 * @property {number} length of the pieces
 * @property {number} second when it began, of the epoch
 * @property {((line: number) => void) | undefined} begun
 */

/** The page keeps so many lines; the raw log has all. */
const linesKept = 250_000;
/** So many characters of one line are shown: laying out a longer one would hold up the page. */
const lineLimit = 10_000;

export class LogLines {
  #steps;
  /** @type {Record<string, Painter>} */
  #painters = {};
  /** @type {Block[]} */
  #blocks = [];
  /** @type {Map<Element, Block>} */
  #byElement = new Map();
  /** Blocks with something to draw. @type {Set<Block>} */
  #changed = new Set();
  /** The unfinished line of each stream, the one that began first in front. @type {Map<string, OpenLine>} */
  #open = new Map();
  /** Shows the unfinished lines. @type {Block | null} */
  #tail = null;
  /** The blocks with marked lines. @type {Block[]} */
  #marked = [];
  #near;
  /** Whether the last block gets no more lines. */
  #isFull = true;
  /** Lines that have ended: these can be searched and marked. */
  finished = 0;
  /** Lines that the page let go of. */
  dropped = 0;

  /** @param {HTMLElement} root @param {import("./log-steps.js").LogSteps} steps */
  constructor(root, steps) {
    this.#steps = steps;
    const options = { root, rootMargin: "800px 0px" };
    this.#near = new IntersectionObserver((entries) => this.#moved(entries), options);
  }

  get count() {
    return this.finished + this.#open.size;
  }

  /**
   * Takes a chunk; `draw` shows it. `begun` gets the number of the line with which the chunk begins,
   * as soon as that is known.
   * @param {Pick<Chunk, "log_chunk" | "stream_type" | "created_at">} chunk
   * @param {(line: number) => void} [begun]
   */
  write({ log_chunk, stream_type, created_at }, begun) {
    const painter = (this.#painters[stream_type] ??= new Painter());
    const second = Math.floor(Date.parse(created_at) / 1000);
    const lines = log_chunk.split("\n");
    const rest = lines.pop() ?? "";
    let first = begun;
    for (const line of lines) {
      this.#add(stream_type, painter.pieces(line), second, first);
      painter.endLine();
      this.#finish(stream_type);
      first = undefined;
    }
    const pieces = painter.pieces(rest);
    // Colours that end behind the last line are no line.
    if (pieces.some(({ text }) => text !== "")) this.#add(stream_type, pieces, second, first);
  }

  /** The lines from here on belong to another step. */
  beginStep() {
    this.#isFull = true;
  }

  /** Ends the lines that have no newline, at the end of the log. */
  finish() {
    for (const stream of this.#open.keys()) this.#finish(stream);
  }

  draw() {
    this.#drawOpen();
    // The end is where most look: it is drawn as lines at once, and put to sleep again where it is
    // not seen.
    const last = this.#blocks.at(-1);
    if (last?.isNear === null) last.wake();
    for (const block of this.#changed) block.draw();
    this.#changed.clear();
  }

  /** Paints the lines anew, when their times are to be those of another zone. */
  repaint() {
    for (const block of this.#blocks) block.repaint();
    this.#drawOpen();
  }

  #drawOpen() {
    this.#tail?.element.remove();
    this.#tail = null;
    if (this.#open.size === 0) return;
    this.#tail = new Block(this.finished);
    for (const [stream, line] of this.#open) fill(this.#tail, stream, line);
    this.#tail.wake();
    this.#steps.body.append(this.#tail.element);
  }

  /**
   * @param {string} stream
   * @param {import("./log-painter.js").Piece[]} pieces
   * @param {number} second
   * @param {((line: number) => void) | undefined} begun
   */
  #add(stream, pieces, second, begun) {
    const line = this.#open.get(stream) ?? { pieces: [], length: 0, second, begun: undefined };
    this.#open.set(stream, line);
    line.begun ??= begun;
    for (const { text, look } of pieces) {
      if (line.length >= lineLimit) continue;
      const shown = text.slice(0, lineLimit - line.length);
      line.length += shown.length;
      line.pieces.push({ text: shown, look });
      if (line.length >= lineLimit)
        line.pieces.push({ text: " … (the rest is in the raw log)", look: "" });
    }
  }

  /** @param {string} stream */
  #finish(stream) {
    const line = this.#open.get(stream);
    if (!line) return;
    this.#open.delete(stream);
    const last = this.#blocks.at(-1);
    const block = this.#isFull || !last ? this.#more() : last;
    fill(block, stream, line);
    this.#isFull = block.lines === blockSize;
    this.#changed.add(block);
    this.finished += 1;
    this.#steps.addLine();
    line.begun?.(this.finished);
  }

  #more() {
    const block = new Block(this.finished);
    this.#blocks.push(block);
    this.#byElement.set(block.element, block);
    if (this.#tail?.element.parentElement === this.#steps.body)
      this.#tail.element.before(block.element);
    else this.#steps.body.append(block.element);
    this.#near.observe(block.element);
    while (this.finished - this.dropped >= linesKept) this.#drop();
    return block;
  }

  #drop() {
    const block = this.#blocks.shift();
    if (!block) return;
    this.#near.unobserve(block.element);
    this.#byElement.delete(block.element);
    this.#changed.delete(block);
    block.element.remove();
    this.dropped += block.lines;
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #moved(entries) {
    const selection = getSelection();
    for (const { target, isIntersecting } of entries) {
      const block = this.#byElement.get(target);
      if (!block) continue;
      block.isNear = isIntersecting;
      if (isIntersecting) block.wake();
      // Keep selected lines unchanged, so that the user can copy them.
      else if (selection?.isCollapsed !== false || !selection.containsNode(target, true))
        block.sleep();
    }
  }

  /** @param {number} number */
  #blockOf(number) {
    return this.#blocks.findLast(({ before }) => before < number);
  }

  /**
   * Marks the lines from one to another, counted from 1, and returns the element of the first one;
   * null where there is none. @param {number} from @param {number} to @returns {HTMLElement | null}
   */
  mark(from, to) {
    const block = this.#blockOf(from);
    if (!block || from > block.before + block.lines) return null;
    for (const one of this.#marked) one.mark(-1, -1);
    this.#marked = this.#blocks.filter(
      ({ before, lines }) => before < to && before + lines >= from,
    );
    for (const one of this.#marked) one.mark(from - 1 - one.before, to - 1 - one.before);
    this.#steps.reveal(block.element);
    return block.line(from - 1 - block.before);
  }

  /** Returns a line that has ended, counted from 1. @param {number} number */
  textOf(number) {
    const block = this.#blockOf(number);
    return block?.text.split("\n")[number - 1 - block.before] ?? "";
  }

  /**
   * Which lines of the block of line `from` hold a text, in capitals or not, from that line on.
   * @param {string} wanted in small letters
   * @param {number} from
   * @returns {{ found: number[], next: number }} `next` is the line to continue from
   */
  search(wanted, from) {
    const block = this.#blockOf(from);
    if (!block) return { found: [], next: from };
    const text = block.text.toLowerCase();
    const first = block.before + 1;
    const next = first + block.lines;
    if (!text.includes(wanted)) return { found: [], next };
    const found = text
      .split("\n")
      .flatMap((line, index) => (line.includes(wanted) ? [first + index] : []));
    return { found: found.filter((number) => number >= from), next };
  }
}

/** Adds a line to a block. @param {Block} block @param {string} stream @param {OpenLine} line */
function fill(block, stream, { pieces, second }) {
  const isFailure = stream === "SYSTEM" && pieces[0]?.text.startsWith("FAILED");
  block.begin(isFailure ? "FAILED" : stream, second);
  for (const { text, look } of pieces) block.append(text, look);
}
