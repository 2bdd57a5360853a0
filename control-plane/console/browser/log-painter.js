// @ts-check
/**
 * Terraform's colours: text with escape sequences in, pieces of plain text with the names of classes out. Whatever a log says, nothing of it
 * becomes markup, a link or a style.
 */
// Browsers know its address, not where it is installed.
// oxlint-disable-next-line import/no-absolute-path
import { AnsiUp } from "/assets/ansi_up.js";

/** @typedef {{ text: string, look: string }} Piece */
/** @typedef {{ text: string, bold: boolean, faint: boolean, italic: boolean, underline: boolean, fg: { class_name: string } | null, bg: { class_name: string } | null }} Part */

/** The longest sequence that is waited for, in characters. A link has a whole address in it. */
const sequenceLimit = 4096;

/** One stream's colours, which go on over lines and chunks. */
export class Painter {
  #ansi = new AnsiUp();
  /** @type {Piece[]} */
  #pieces = [];

  constructor() {
    this.#ansi.use_classes = true;
    // It would make markup; it is used for what it finds out alone.
    this.#ansi["transform_to_html"] = (/** @type {Part} */ part) => {
      this.#pieces.push({ text: part.text, look: lookOf(part) });
      return "";
    };
    this.#ansi["process_hyperlink"] = (/** @type {{ text: string }} */ { text }) => {
      this.#pieces.push({ text, look: "" });
      return "";
    };
  }

  /** @param {string} text @returns {Piece[]} */
  pieces(text) {
    this.#pieces = [];
    // What only begins like a sequence is text: it would be looked through again with every piece of a line that has no end.
    const begun = this.#ansi["_buffer"];
    if (begun.length > sequenceLimit) {
      this.#ansi["_buffer"] = "";
      this.#pieces.push({ text: begun.slice(1), look: "" });
    }
    this.#ansi.ansi_to_html(text.replaceAll("\r", ""));
    return this.#pieces;
  }

  /** What was begun and not ended in its line ends with it: it must not swallow what follows. */
  endLine() {
    this.#ansi["_buffer"] = "";
  }
}

/** The looks that there are: many pieces share few, and keep no text of their own for it. @type {Map<string, string>} */
const looks = new Map();

/** @param {Part} part */
function lookOf({ bold, faint, italic, underline, fg, bg }) {
  const look = [
    bold && "bold",
    faint && "faint",
    italic && "italic",
    underline && "underline",
    fg && fg.class_name !== "truecolor" && `${fg.class_name}-fg`,
    bg && bg.class_name !== "truecolor" && `${bg.class_name}-bg`,
  ]
    .filter(Boolean)
    .join(" ");
  const known = looks.get(look);
  if (known === undefined) looks.set(look, look);
  return known ?? look;
}
