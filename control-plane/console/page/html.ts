/** HTML by a template tag: everything put in is escaped, except other HTML. */
import { escapeHtml } from "../../domain/escape-html.ts";

/** Markup that is safe to send. Only `html` makes it. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | undefined | readonly Part[];

/** Escapes text and inserts markup unchanged; null and undefined are nothing. */
export const html = (strings: TemplateStringsArray, ...values: readonly Part[]): Html =>
  new Html(strings.reduce((text, string, index) => text + render(values[index - 1]) + string));

function render(value: Part): string {
  if (value instanceof Html) return value.text;
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? value.map(render).join("") : escapeHtml(String(value));
}
