// @ts-check
/**
 * A log as lines of the page. Whatever a log says becomes text with classes: nothing of it becomes markup, a link or a style.
 * Lines stand in blocks that the browser lays out only when they come into view, so that its own search and copy work on all of them.
 */
// Browsers know its address, not where it is installed.
// oxlint-disable-next-line import/no-absolute-path
import { AnsiUp } from "/assets/ansi_up.js";

/** @typedef {import("./log-stream.js").Chunk} Chunk */
/** @typedef {{ text: string, bold: boolean, faint: boolean, italic: boolean, underline: boolean, fg: { class_name: string } | null, bg: { class_name: string } | null }} Part */

const blockSize = 500;
/** The page keeps so many blocks: 200,000 lines and some; the raw log has all. */
const blocksKept = 500;
/** So many characters of one line are shown: laying out a longer one would hold up the page. */
const lineLimit = 10_000;

/** One stream's colours, which go on over lines and chunks. */
class Painter {
  #ansi = new AnsiUp();
  /** @type {Part[]} */
  #parts = [];

  constructor() {
    this.#ansi.use_classes = true;
    // It would make markup; it is used for what it finds out alone.
    this.#ansi["transform_to_html"] = (/** @type {Part} */ part) => {
      this.#parts.push(part);
      return "";
    };
    this.#ansi["process_hyperlink"] = (/** @type {{ text: string }} */ { text }) => {
      this.#parts.push({ ...plain, text });
      return "";
    };
  }

  /** @param {string} text @returns {Part[]} */
  parts(text) {
    this.#parts = [];
    this.#ansi.ansi_to_html(text);
    return this.#parts;
  }

  /** What was begun and not ended in its line ends with it: it must not swallow what follows. */
  endLine() {
    this.#ansi["_buffer"] = "";
  }
}

const plain = { bold: false, faint: false, italic: false, underline: false, fg: null, bg: null };

export class LogLines {
  #root;
  /** @type {Record<string, Painter>} */
  #painters = {};
  /** The line that may go on, and how much of it is shown. @type {HTMLElement | null} */
  #open = null;
  #openStream = "";
  #openLength = 0;
  #time = "";
  /** Lines so far. */
  count = 0;
  /** Lines that the page let go of. */
  dropped = 0;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
  }

  /** @param {Pick<Chunk, "log_chunk" | "stream_type" | "created_at">} chunk */
  write({ log_chunk, stream_type, created_at }) {
    const painter = (this.#painters[stream_type] ??= new Painter());
    if (this.#openStream !== stream_type) this.#open = null;
    this.#openStream = stream_type;
    const lines = log_chunk.split("\n");
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#add(painter, line, stream_type, created_at);
      painter.endLine();
      this.#open = null;
    }
    if (rest !== "") this.#add(painter, rest, stream_type, created_at);
  }

  /** @param {Painter} painter @param {string} text @param {string} stream @param {string} time */
  #add(painter, text, stream, time) {
    const line = this.#open ?? this.#begin(stream, time);
    for (const part of painter.parts(text.replaceAll("\r", ""))) {
      if (this.#openLength >= lineLimit) continue;
      const shown = part.text.slice(0, lineLimit - this.#openLength);
      this.#openLength += shown.length;
      line.append(paint(part, shown));
      if (this.#openLength >= lineLimit) line.append(" … (the raw log has the rest)");
    }
  }

  /** @param {string} stream @param {string} time */
  #begin(stream, time) {
    const line = document.createElement("div");
    if (stream !== "STDOUT") line.className = stream;
    const second = time.slice(11, 19);
    if (second !== this.#time) line.dataset["time"] = this.#time = second;
    this.#block().append(line);
    this.count += 1;
    this.#open = line;
    this.#openLength = 0;
    return line;
  }

  #block() {
    const block = this.#root.lastElementChild;
    if (block && this.count % blockSize !== 0) return block;
    const made = document.createElement("div");
    made.className = "block";
    made.style.counterReset = `line ${this.count}`;
    this.#root.append(made);
    if (this.#root.childElementCount > blocksKept) {
      this.#root.firstElementChild?.remove();
      this.dropped += blockSize;
    }
    return made;
  }

  /** The element of a line, counted from 1. @param {number} number @returns {HTMLElement | null} */
  line(number) {
    const index = number - 1 - this.dropped;
    const block = this.#root.children[Math.floor(index / blockSize)];
    return /** @type {HTMLElement | null} */ (block?.children[index % blockSize] ?? null);
  }

  /** @param {Element} line @returns {number} */
  numberOf(line) {
    const block = line.parentElement;
    if (!block) return 0;
    const before = [...this.#root.children].indexOf(block) * blockSize;
    return this.dropped + before + [...block.children].indexOf(line) + 1;
  }
}

/** @param {Part} part @param {string} text @returns {Node} */
function paint({ bold, faint, italic, underline, fg, bg }, text) {
  const classes = [
    bold && "bold",
    faint && "faint",
    italic && "italic",
    underline && "underline",
    fg && fg.class_name !== "truecolor" && `${fg.class_name}-fg`,
    bg && bg.class_name !== "truecolor" && `${bg.class_name}-bg`,
  ].filter(Boolean);
  if (classes.length === 0) return document.createTextNode(text);
  const span = document.createElement("span");
  span.className = classes.join(" ");
  span.textContent = text;
  return span;
}
