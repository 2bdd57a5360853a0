import type { VariableSet } from "../../../protocol/variable-sets.ts";
import type { ValueMarks } from "../../domain/snapshot.ts";
import { valueKinds } from "../../domain/variable-sets.ts";
import type { Attachment, VariableSetSummary } from "../../services/variable-sets/lists.ts";
import type { ZoneName } from "../../services/zones/zones.ts";
import type { Runs } from "../../services/jobs/runs.ts";
import { entriesView } from "../configurations/entries-view.ts";
import { shortStrip } from "../jobs/run-strip.ts";
import { choice, line, trouble } from "../page/fields.ts";
import { nameField, renameSection } from "../page/name-forms.ts";
import type { Form, FormsOf } from "../page/form.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { empty } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { deleteSection } from "../page/rare.ts";
import { table } from "../page/table.ts";
import { clock } from "../page/words.ts";

export const variableSetsPage = (
  { items: sets, next }: ListPage<VariableSetSummary>,
  form: Form,
): Html =>
  html`<h1>Variable sets</h1>
    <p class="soft">
      A variable set gives the same variables and environment to several configurations. Attach it
      to single configurations, or to a zone for all configurations of the zone.
    </p>
    ${
      sets.length === 0
        ? empty({
            icon: "braces",
            title: "No variable set yet",
            text: "Create one here, add values, then attach it to zones or configurations.",
          })
        : table(
            "Variable sets",
            ["Name", "Zones", "Configurations"],
            sets.map(({ id, name, zones, configurations }) => [
              html`<a href="/variable-sets/${id}">${name}</a>`,
              String(zones),
              String(configurations),
            ]),
          )
    }
    ${olderLink("/variable-sets", next, "variable sets")}
    <section aria-labelledby="create">
      <h2 id="create">New variable set</h2>
      <form method="post" action="/variable-sets" class="form row">
        ${trouble(form, ["name"])} ${nameField(form)} <button>Create the variable set</button>
      </form>
    </section>`;

export interface VariableSetViewModel {
  readonly set: VariableSet;
  readonly marks: ValueMarks;
  readonly attachments: readonly Attachment[];
  readonly runs: Runs;
  readonly zones: readonly ZoneName[];
  readonly now: string;
}

export const variableSetPage = (model: VariableSetViewModel, forms: FormsOf): Html => {
  const { set, marks, attachments } = model;
  const path = `/variable-sets/${set.id}`;
  return html`<nav class="trail" aria-label="Above">
      <a href="/variable-sets">Variable sets</a>
    </nav>
    <h1>${set.name}</h1>
    <p class="soft">
      Changed ${clock(set.updated_at)}. Jobs get the values that the set has when they are created.
      After a change, earlier plans that used other values can no longer be deployed.
    </p>
    ${valueKinds.map((kind) => entriesView(path, set, marks, kind, forms))}
    ${attachedTo(path, model, forms)}
    <div class="rare">
      ${renameSection(path, set.name, forms("rename", { name: set.name }))}
      ${deleteSection(path, "variable set", forms("remove"), {
        text: "This also deletes its values. It cannot be undone.",
        obstacle:
          attachments.length > 0
            ? "It cannot be deleted while it is attached. Detach it from everything first."
            : null,
      })}
    </div>`;
};

const attachedTo = (
  path: string,
  { attachments, runs, zones, now }: VariableSetViewModel,
  forms: FormsOf,
): Html => {
  const [zone, configuration] = [forms("zone"), forms("configuration")];
  const known = new Set(attachments.map(({ id }) => id));
  const free = zones.filter(({ id }) => !known.has(id));
  return html`<section aria-labelledby="attached">
    <h2 id="attached">Attached to</h2>
    ${trouble(zone, ["zone"])} ${trouble(configuration, ["configuration"])}
    ${
      attachments.length === 0
        ? html`<p class="soft">Nothing yet, so no job gets these values.</p>`
        : table(
            "Zones and configurations",
            ["Name", "What", ...(runs.size === 0 ? [] : ["Last runs"]), "Detach"],
            attachments.map((one) => [
              html`<a href="/${one.level}s/${one.id}">${one.name}</a>`,
              one.level === "zone" ? "zone: all its configurations" : "configuration",
              ...(runs.size === 0 ? [] : [shortStrip(runs.get(one.id), now) ?? "–"]),
              detaching(path, one),
            ]),
          )
    }
    ${
      free.length === 0
        ? null
        : html`<form method="post" action="${path}/zones#attached" class="form row">
            ${choice(zone, { name: "zone", label: "Attach to a zone" }, [
              ["", "choose one"],
              ...free.map(({ id, name }) => [id, name] as const),
            ])}
            <button class="quiet" name="do" value="attach">Attach</button>
          </form>`
    }
    <form method="post" action="${path}/configurations#attached" class="form row">
      ${line(configuration, {
        name: "configuration",
        label: "Attach to a configuration",
        placeholder: "its name or id",
        required: true,
      })}
      <button class="quiet" name="do" value="attach">Attach</button>
    </form>
  </section>`;
};

const detaching = (path: string, { level, id, name }: Attachment): Html =>
  html`<form method="post" action="${path}/${level}s#attached">
    <input type="hidden" name="${level}" value="${id}" />
    <button class="quiet" name="do" value="detach" aria-label="Detach from ${name}">Detach</button>
  </form>`;
