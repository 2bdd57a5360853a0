/** The audit log: who did what. */
import { auditActions, type AuditAction, type AuditEntry } from "../../../protocol/audit.ts";
import { isLookedFor, type LookedFor } from "../../services/audit/audit.ts";
import { html, type Html } from "../page/html.ts";
import { olderLink } from "../page/list.ts";
import { table } from "../page/table.ts";
import { clock } from "../page/words.ts";

export interface AuditLog {
  readonly entries: readonly AuditEntry[];
  /** The ids of what they name and what still exists. */
  readonly existing: ReadonlySet<string>;
  /** The only action that is shown; undefined: all. */
  readonly wanted: AuditAction | undefined;
  /** Where the list continues; undefined at its end. */
  readonly next: string | undefined;
}

/** The whole page. On a narrow screen an entry has two lines, and the rest is folded. */
export const auditPage = ({ entries, existing, wanted, next }: AuditLog): Html =>
  html`<h1>Audit</h1>
    <p class="soft">Who did what to your resources, when and from where; newest first.</p>
    <form method="get" action="/audit" class="first">
      <label
        >Only
        <select name="action">
          <option value="">everything</option>
          ${auditActions.map((one) => html`<option ${one === wanted ? html`selected` : null}>${one}</option>`)}
        </select></label
      >
      <button class="quiet">Show</button>
    </form>
    ${
      entries.length === 0
        ? html`<p class="soft">
            No entries. ${wanted === undefined ? null : html`<a href="/audit">Show everything</a>`}
          </p>`
        : html`<div class="audit">
            ${table(
              "Audit log",
              ["When", "Who", "What", "To", "From", "Details"],
              entries.map((entry) => [
                clock(entry.created_at),
                entry.actor.name ?? entry.actor.kind.replaceAll("_", " "),
                html`<code>${entry.action}</code>`,
                targetOf(entry, existing),
                entry.ip_address ?? "–",
                foldOf(entry),
              ]),
            )}
          </div>`
    }
    ${olderLink(wanted === undefined ? "/audit" : `/audit?action=${wanted}`, next, "entries")}`;

const pages: Readonly<Record<LookedFor, string>> = {
  configuration: "configurations",
  state: "configurations",
  zone: "zones",
  worker: "workers",
  variable_set: "variable-sets",
  cloud_identity: "identities",
};

/** Jobs stay; other things that have a page have a link as long as they exist. */
const targetOf = (
  { target, configuration }: AuditEntry,
  existing: ReadonlySet<string>,
): Html | string => {
  const { kind, id, name } = target;
  const linked = (of: LookedFor, to: string | null, text: string): Html | string =>
    to !== null && existing.has(to) ? html`<a href="/${pages[of]}/${to}">${text}</a>` : text;
  if (kind !== "job" || id === null) {
    const text = name ?? id ?? "–";
    return isLookedFor(kind) ? linked(kind, id, text) : text;
  }
  const of = configuration?.name ?? null;
  return html`<a href="/jobs/${id}">${name ?? "job"}</a
    >${of === null ? "" : html` of ${linked("configuration", configuration?.id ?? null, of)}`}`;
};

/**
 * The details on one line, and all of them when it is opened. On a narrow screen only a word shows, and
 * where the request came from is in it too.
 */
const foldOf = (entry: AuditEntry): Html => {
  const details = detailsOf(entry);
  const from = entry.ip_address === null ? null : `from ${entry.ip_address}`;
  const all = [from, ...details].filter((one) => one !== null);
  if (all.length === 0) return html``;
  return html`<details class="${details.length === 0 ? "more bare" : "more"}">
    <summary><span>${details.join(", ")}</span></summary>
    ${all.map((one) => html`<div>${one}</div>`)}
  </details>`;
};

/** What the target does not say already; the name of a thing in place of its id. */
const detailsOf = ({ details, configuration }: AuditEntry): string[] =>
  Object.entries(details)
    .filter(([name]) => name !== "configuration_id" || !configuration?.name)
    .filter(([name]) => !name.endsWith("_id") || !(name.replace(/_id$/, "_name") in details))
    .map(([name, value]) => `${name.replace(/_name$/, "")}: ${String(value)}`);
