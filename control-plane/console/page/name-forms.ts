/** The forms of what has nothing but a name: zones and variable sets. */
import { line, trouble } from "./fields.ts";
import { markOf, type Form } from "./form.ts";
import { html, type Html } from "./html.ts";
import { row } from "./rare.ts";

export const nameField = (form: Form): Html =>
  line(form, { name: "name", label: "Name", required: true });

export const renameSection = (path: string, name: string, form: Form): Html =>
  row(
    { id: "rename", title: "Rename" },
    null,
    html`<form method="post" action="${path}" class="form row">
      <input type="hidden" name="seen" value="${markOf({ name })}" />
      ${trouble(form, ["name"], path)} ${nameField(form)} <button class="quiet">Rename</button>
    </form>`,
  );
