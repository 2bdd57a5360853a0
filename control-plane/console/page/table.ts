/** Tables of the pages. */
import { html, type Html } from "./html.ts";

/** Rows under heads; the label is for those who do not see what it is about. */
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
              ${row.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
