/** The versions of a state, if it is managed, and its lock. */
import type { Configuration } from "../../../protocol/configurations.ts";
import type { StateLock, StateVersion } from "../../../protocol/state-versions.ts";
import { storerText } from "../../../protocol/words.ts";
import { ask, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { table } from "../page/table.ts";
import { clock, size } from "../page/words.ts";

interface ViewModel {
  readonly configuration: Configuration;
  /** Newest first; `isFirst`: the newest of all is among them. */
  readonly versions: ListPage<StateVersion> & { readonly isFirst: boolean };
  readonly lock: StateLock | null;
}

/** `form`: the one that was refused. */
export const stateView = (model: ViewModel, form: Form): Html =>
  html`${trouble(form)}
    <div id="state" data-live>
      ${model.lock === null ? null : lockView(model.configuration, model.lock)}
      ${
        model.configuration.state_backend === "own"
          ? html`<p class="soft">The configuration keeps its state in its own backend.</p>`
          : versionsView(model)
      }
    </div>`;

const versionsView = ({ configuration, versions: { items, next, isFirst } }: ViewModel): Html =>
  html`${
    items.length === 0
      ? html`<p class="soft">
          No state yet. The first deployment writes it; its versions are then listed here.
        </p>`
      : html`<p><a href="/configurations/${configuration.id}/graph">Graph of the resources</a></p>
          ${table(
            "Versions of the state",
            ["Serial", "Written", "By", "Resources", "Size", "What to do"],
            items.map((version, index) => row(configuration, version, isFirst && index === 0)),
          )}`
  }
  ${olderLink(`/configurations/${configuration.id}/state`, next, "versions")}`;

function lockView(
  { id, state_backend }: Configuration,
  { job_id, created_at, held, state_unsaved }: StateLock,
): Html {
  const link = (text: string): Html => html`<a href="/jobs/${job_id}">${text}</a>`;
  if (held)
    return html`<p class="soft">Locked ${clock(created_at)} by ${link("the running job")}.</p>`;
  const unlock = (text: string): Html =>
    ask(
      "Unlock…",
      html`<form method="post" action="/configurations/${id}/state/unlock">
        <button class="danger">${text}</button>
      </form>`,
    );
  return state_unsaved
    ? html`<div class="notice flow">
        <p>
          Locked ${clock(created_at)} by ${link("a job that could not save its state")}: no state
          records what it has changed. Its message says where the runner has kept that state.
          ${
            state_backend === "own"
              ? html`Store it in the backend (<code>terraform state push FILE</code>), then unlock.`
              : html`Store it with <code>windlass state push</code>, which removes the lock.`
          }
          Otherwise the next deployment creates those resources again.
        </p>
        ${unlock("The state is stored, or of no use: unlock")}
      </div>`
    : html`<div class="notice flow">
        <p>
          Locked ${clock(created_at)} by ${link("a job whose outcome is unknown")}. If its runner
          was lost, its terraform may still be running: check its machine first. After the unlock,
          the server refuses what that terraform writes.
        </p>
        ${unlock("It is no longer running: unlock")}
      </div>`;
}

const row = (
  { id, name }: Configuration,
  version: StateVersion,
  isNewest: boolean,
): (Html | string)[] => {
  const { serial, created_at, job_id, resources, size_bytes } = version;
  const file = `${name.replaceAll(/[^\w.-]+/g, "-")}-${serial}.tfstate`;
  return [
    String(serial),
    clock(created_at),
    job_id === null ? storerText(version) : html`<a href="/jobs/${job_id}">job</a>`,
    resources === null ? "not known" : String(resources),
    size(size_bytes),
    html`<div class="actions">
      <a href="/api/cli/configurations/${id}/state/versions/${serial}" download="${file}"
        >Download</a
      >
      ${
        isNewest
          ? null
          : ask(
              "Roll back…",
              html`<p>
                  The content of this version becomes the newest version. Your infrastructure does
                  not change until the next job, which takes this version as its state.
                </p>
                <form method="post" action="/configurations/${id}/state/${serial}/rollback">
                  <button class="danger">Roll back to ${serial}</button>
                </form>`,
            )
      }
    </div>`,
  ];
};
