import { html, type Html } from "./html.ts";

/** `label` is for screen readers. On a narrow screen, each row becomes a block. */
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
              ${row.map((cell, index) => html`<td data-head="${heads[index]}" ${lookOf(cell)}>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

/** A cell with a word that is too long to stay on one line, or with nothing to be read in a block. */
function lookOf(cell: Html | string): Html | null {
  const text = typeof cell === "string" ? cell : cell.text.replaceAll(/<[^>]*>/g, " ");
  if (/^[\s–]*$/.test(text)) return html`class="blank"`;
  return /\S{25}/.test(text) ? html`class="long"` : null;
}
