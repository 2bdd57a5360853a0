/** The forms of what has nothing but a name: zones and variable sets. */
import { line, trouble } from "./fields.ts";
import { markOf, type Form } from "./form.ts";
import { html, type Html } from "./html.ts";

export const nameField = (form: Form): Html =>
  line(form, { name: "name", label: "Name", required: true });

export const renameSection = (path: string, name: string, form: Form): Html =>
  html`<section aria-labelledby="rename">
    <h2 id="rename">Rename</h2>
    <form method="post" action="${path}" class="form row">
      <input type="hidden" name="seen" value="${markOf({ name })}" />
      ${trouble(form, ["name"], path)} ${nameField(form)} <button class="quiet">Rename</button>
    </form>
  </section>`;
