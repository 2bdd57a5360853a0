// @ts-check
/**
 * Terraform's colours: text with escape sequences in, pieces of plain text with the names of
 * classes out. Nothing of a log becomes markup, a link or a style: only sequences that set colours
 * are read, the others are left out.
 */
// Browsers know its address, not where it is installed.
// oxlint-disable-next-line import/no-absolute-path
import { createAnsiSequenceParser, namedColors } from "ansi-sequence-parser";

/** @typedef {{ text: string, look: string }} Piece */
/** @typedef {ReturnType<ReturnType<typeof createAnsiSequenceParser>["parse"]>[number]} Token */

/** The longest sequence that is waited for, in characters. A link has a whole address in it. */
const sequenceLimit = 4096;

/**
 * A sequence (ECMA-48): a control sequence, a string such as a link, or a short one; else the
 * escape character alone.
 */
const sequences =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]*[0-OQ-WYZ\\`-~])?/g;
/** The beginning of one, at the end of the text. */
// oxlint-disable-next-line no-control-regex
const unfinished = /\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)$/;
// oxlint-disable-next-line no-control-regex
const colour = /^\u001b\[[\d;]*m$/;

/** One stream's colours, which go on over lines and chunks. */
export class Painter {
  #parser = createAnsiSequenceParser();
  /** The beginning of a sequence whose rest has not come yet. */
  #begun = "";

  /** @param {string} text @returns {Piece[]} */
  pieces(text) {
    let rest = this.#begun + text.replaceAll("\r", "");
    this.#begun = "";
    if (rest.includes("\u001b")) {
      const [begun = ""] = unfinished.exec(rest) ?? [];
      // What only begins like a sequence is text: it would be looked through again with every piece
      // of a line that has no end.
      if (begun.length <= sequenceLimit) {
        this.#begun = begun;
        rest = rest.slice(0, rest.length - begun.length);
      }
      rest = rest.replace(sequences, (found) => {
        if (!colour.test(found)) return "";
        // The parser passes over a code that is left out; it means 0.
        return found === "\u001b[m" ? "\u001b[0m" : found;
      });
    }
    return this.#parser.parse(rest).map((token) => ({ text: token.value, look: lookOf(token) }));
  }

  /** What was begun and not ended in its line ends with it: it must not swallow what follows. */
  endLine() {
    this.#begun = "";
  }
}

/**
 * The looks that there are: many pieces share few, and keep no text of their own for it. @type
 * {Map<string, string>}
 */
const looks = new Map();

/** @param {Token} token */
function lookOf({ decorations, foreground, background }) {
  const look = [
    decorations.has("bold") && "bold",
    decorations.has("dim") && "faint",
    decorations.has("italic") && "italic",
    decorations.has("underline") && "underline",
    classOf(foreground, "fg"),
    classOf(background, "bg"),
  ]
    .filter(Boolean)
    .join(" ");
  const known = looks.get(look);
  if (known === undefined) looks.set(look, look);
  return known ?? look;
}

/**
 * The class of one of the sixteen named colours; others are not shown. @param {Token["foreground"]}
 * of @param {string} where
 */
function classOf(of, where) {
  const name = of?.type === "named" ? of.name : of?.type === "table" && namedColors[of.index];
  return name && `ansi-${name.replace("bright", "bright-").toLowerCase()}-${where}`;
}
