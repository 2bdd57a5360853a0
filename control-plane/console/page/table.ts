/** Tables of the pages. */
import { html, type Html } from "./html.ts";

/**
 * Rows under heads; the label is for readers who do not see what it is about. A narrow screen shows
 * each row as a block, and each cell with its head before it.
 */
export const table = (
  label: string,
  heads: readonly string[],
  rows: readonly (readonly (Html | string)[])[],
): Html =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, index) => html`<td data-head="${heads[index]}" ${isLong(cell) ? html`class="long"` : null}>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/** Whether a word of the cell is too long to stay on one line. */
const isLong = (cell: Html | string): boolean =>
  /\S{25}/.test(typeof cell === "string" ? cell : cell.text.replaceAll(/<[^>]*>/g, " "));
