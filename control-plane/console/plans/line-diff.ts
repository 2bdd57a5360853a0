/** What changes in a long text, line by line: scripts, YAML, and JSON with a line for each member. */
import { diffArrays } from "diff";
import { plainJson } from "../../../common/exact-json.ts";
import { visible } from "../../../protocol/plan-text.ts";
import { html, type Html } from "../page/html.ts";
import { count } from "../page/words.ts";

/** Texts of more lines are not compared; those that differ in more are removed and added in whole. */
const lineLimit = 400;
const editLimit = 100;
/** Unchanged lines around a change. */
const context = 3;
/** A row that says that fewer lines are hidden saves nothing. */
const fewestHidden = 4;
/** A longer difference is folded. */
const openLines = 40;
/** JSON that is nested deeper stays on one line: its indents would be longer than its text. */
const depthLimit = 20;
/** A shorter list is easier to read on one line. */
const shortValue = 60;

/** Returns the lines of a value, or null if it belongs on one line. */
export function linesOf(value: unknown): readonly string[] | null {
  if (typeof value === "string" && value.includes("\n"))
    return value.replace(/\n$/, "").split("\n");
  const text = typeof value === "string" ? value : plainJson(value);
  return text.length > shortValue && /^[[{]/.test(text) ? indented(text) : null;
}

const tokens = /"(?:[^"\\]|\\.)*"?|\{\s*\}|\[\s*\]|[[\]{},:]|[^"\s[\]{},:]+/g;

/** Only moves characters, so that numbers keep all digits and cut text is no error. */
function indented(json: string): string[] | null {
  const lines: string[] = [];
  let [line, depth] = ["", 0];
  const end = () => {
    if (line !== "") lines.push("  ".repeat(depth) + line);
    line = "";
  };
  for (const [token] of json.matchAll(tokens)) {
    if (token === "]" || token === "}") {
      end();
      depth = Math.max(0, depth - 1);
    }
    line += token === ":" ? ": " : token;
    if (token === "," || token === "[" || token === "{") end();
    if (token === "[" || token === "{") depth++;
    if (depth > depthLimit) return null;
  }
  end();
  return lines;
}

interface Part {
  readonly look: "same" | "old" | "new";
  readonly lines: readonly string[];
}

/** Returns the lines of both texts in their order. */
function partsOf(old: readonly string[], next: readonly string[]): Part[] {
  const whole: Part[] = [
    { look: "old", lines: old },
    { look: "new", lines: next },
  ];
  const changes = diffArrays([...old], [...next], { maxEditLength: editLimit });
  return (
    changes?.map(({ value, added, removed }) => ({
      look: added ? "new" : removed ? "old" : "same",
      lines: value,
    })) ?? whole
  );
}

/** Both texts as one, with what only one of them has; null if they have too many lines. */
export function lineDiff(old: readonly string[], next: readonly string[]): Html | null {
  if (Math.max(old.length, next.length) > lineLimit) return null;
  const parts = partsOf(old, next);
  const rows = parts.flatMap(({ look, lines }, index) => {
    if (look === "same") return unchanged(lines, index === 0, index === parts.length - 1);
    const other = parts[index + (look === "old" ? 1 : -1)];
    const isPair =
      other !== undefined && other.look !== "same" && other.lines.length === lines.length;
    return lines.map((line, at) => changed(look, line, isPair ? other.lines[at] : undefined));
  });
  const body = html`<div class="diff">${rows}</div>`;
  if (rows.length <= openLines) return body;
  const of = (wanted: Part["look"]): number =>
    parts.reduce((sum, { look, lines }) => (look === wanted ? sum + lines.length : sum), 0);
  return html`<details class="long">
    <summary>
      <del>−${of("old")}</del> <ins>+${of("new")}</ins> of ${count(next.length, "line")}
    </summary>
    ${body}
  </details>`;
}

/** Those near a change, and how many the others are. */
function unchanged(lines: readonly string[], isFirst: boolean, isLast: boolean): Html[] {
  const above = isFirst ? 0 : context;
  const below = isLast ? 0 : context;
  const hidden = lines.length - above - below;
  if (hidden < fewestHidden) return sameLines(lines);
  return [
    ...sameLines(lines.slice(0, above)),
    html`<span class="gap">⋯ ${hidden} unchanged lines</span>`,
    ...sameLines(lines.slice(lines.length - below)),
  ];
}

const sameLines = (lines: readonly string[]): Html[] =>
  lines.map((line) => html`<span>${shownLine(line)}</span>`);

/** Blanks are characters of the text: the tabs of a script are no surprise. */
const shownLine = (line: string): string => line.split("\t").map(visible).join("\t");

function changed(look: Part["look"], line: string, other: string | undefined): Html {
  const text = marked(line, other, shownLine);
  return look === "old" ? html`<del>${text}</del>` : html`<ins>${text}</ins>`;
}

/** In a shorter text, the difference is seen without help. */
const markedLength = 12;

/** A text with the part in bold that another one does not have, if most of it is the same. */
export function marked(
  text: string,
  other: string | undefined,
  shown: (text: string) => string,
): Html | string {
  if (other === undefined || text.length < markedLength) return shown(text);
  const limit = Math.min(text.length, other.length);
  let start = 0;
  while (start < limit && text[start] === other[start]) start++;
  let end = 0;
  while (end < limit - start && text.at(-1 - end) === other.at(-1 - end)) end++;
  // Half a character is none.
  if (/[\uD800-\uDBFF]/.test(text.charAt(start - 1))) start--;
  if (end > 0 && /[\uDC00-\uDFFF]/.test(text.charAt(text.length - end))) end--;
  const until = text.length - end;
  if (start === until || start + end < text.length / 2) return shown(text);
  return html`${shown(text.slice(0, start))}<b>${shown(text.slice(start, until))}</b>${shown(text.slice(until))}`;
}
