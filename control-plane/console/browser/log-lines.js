// @ts-check
/** A log as lines of the page, in blocks that are elements only near to what is seen. */
import { Block, blockSize } from "./log-block.js";
import { Painter } from "./log-painter.js";

/** @typedef {import("./log-stream.js").Chunk} Chunk */

/** The page keeps so many blocks: 250,000 lines; the raw log has all. */
const blocksKept = 1250;
/** So many characters of one line are shown: laying out a longer one would hold up the page. */
const lineLimit = 10_000;

export class LogLines {
  #root;
  /** @type {Record<string, Painter>} */
  #painters = {};
  /** @type {Block[]} */
  #blocks = [];
  /** @type {Map<Element, Block>} */
  #byElement = new Map();
  /** Blocks with something to draw. @type {Set<Block>} */
  #changed = new Set();
  /** Whether the last line may go on, of which stream it is, and how much of it is shown. */
  #isOpen = false;
  #stream = "";
  #length = 0;
  #marked = 0;
  #near;
  /** Lines so far. */
  count = 0;
  /** Lines that the page let go of. */
  dropped = 0;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    const options = { root, rootMargin: "800px 0px" };
    this.#near = new IntersectionObserver((entries) => this.#moved(entries), options);
  }

  /**
   * Takes a chunk; `draw` shows it. @param {Pick<Chunk, "log_chunk" | "stream_type" |
   * "created_at">} chunk
   */
  write({ log_chunk, stream_type, created_at }) {
    const painter = (this.#painters[stream_type] ??= new Painter());
    if (this.#stream !== stream_type) this.#isOpen = false;
    this.#stream = stream_type;
    const second = created_at.slice(11, 19);
    const lines = log_chunk.split("\n");
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#add(painter.pieces(line), second);
      painter.endLine();
      this.#isOpen = false;
    }
    const pieces = painter.pieces(rest);
    // Colours that end behind the last line are no line.
    if (pieces.some(({ text }) => text !== "")) this.#add(pieces, second);
  }

  /**
   * The number of the line with which a chunk would begin. @param {Pick<Chunk, "stream_type">} chunk
   */
  next({ stream_type }) {
    return this.#isOpen && this.#stream === stream_type ? this.count : this.count + 1;
  }

  /** Shows what was written. */
  draw() {
    // The end is where most look: it is drawn as lines at once, and put to sleep again where it is
    // not seen.
    const last = this.#blocks.at(-1);
    if (last?.isNear === null) last.wake();
    for (const block of this.#changed) block.draw();
    this.#changed.clear();
  }

  /** @param {import("./log-painter.js").Piece[]} pieces @param {string} second */
  #add(pieces, second) {
    const block = this.#isOpen ? this.#last() : this.#begin(second);
    this.#changed.add(block);
    for (const piece of pieces) {
      if (this.#length >= lineLimit) continue;
      const shown = piece.text.slice(0, lineLimit - this.#length);
      this.#length += shown.length;
      block.append(shown, piece.look);
      if (this.#length >= lineLimit) block.append(" … (the rest is in the raw log)", "");
    }
  }

  /** @param {string} second */
  #begin(second) {
    const block = this.count % blockSize === 0 ? this.#more() : this.#last();
    block.begin(this.#stream, second);
    this.count += 1;
    this.#isOpen = true;
    this.#length = 0;
    return block;
  }

  #last() {
    return this.#blocks.at(-1) ?? this.#more();
  }

  #more() {
    const block = new Block(this.count);
    this.#blocks.push(block);
    this.#byElement.set(block.element, block);
    this.#root.append(block.element);
    this.#near.observe(block.element);
    if (this.#blocks.length > blocksKept) this.#drop();
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
    return this.#blocks[Math.floor((number - 1 - this.dropped) / blockSize)];
  }

  /**
   * Marks one line, counted from 1, and answers its element; null where there is none. @param
   * {number} number @returns {HTMLElement | null}
   */
  mark(number) {
    const block = this.#blockOf(number);
    const index = (number - 1) % blockSize;
    if (!block || index >= block.lines) return null;
    this.#blockOf(this.#marked)?.mark(-1);
    this.#marked = number;
    block.mark(index);
    return block.line(index);
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
    const first = from - ((from - 1) % blockSize);
    const next = first + block.lines;
    if (!text.includes(wanted)) return { found: [], next };
    const found = text
      .split("\n")
      .flatMap((line, index) => (line.includes(wanted) ? [first + index] : []));
    return { found: found.filter((number) => number >= from), next };
  }
}
