/** The versions of a managed state, and its lock. */
import type { Configuration } from "../../../protocol/configurations.ts";
import type { StateLock, StateVersion } from "../../../protocol/state-versions.ts";
import type { Slice } from "../configurations/configuration-story.ts";
import { ask } from "../page/fields.ts";
import { html, type Html } from "../page/html.ts";
import { table } from "../page/table.ts";
import { clock, size } from "../page/words.ts";

/** All of it. */
export const stateView = (
  configuration: Configuration,
  { items, next, isFirst }: Slice<StateVersion>,
  lock: StateLock | null,
): Html =>
  html`${lock === null ? null : lockView(configuration, lock)}
  ${
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
  ${
    next === undefined
      ? null
      : html`<p>
          <a href="/configurations/${configuration.id}?versions=${next}#state-title"
            >Older versions</a
          >
        </p>`
  }`;

const lockView = ({ id }: Configuration, { job_id, created_at, held }: StateLock): Html =>
  held
    ? html`<p class="soft">
        Locked ${clock(created_at)} by <a href="/jobs/${job_id}">the running job</a>.
      </p>`
    : html`<div class="notice flow">
        <p>
          Locked ${clock(created_at)} by <a href="/jobs/${job_id}">a job that was lost</a>. Its
          terraform may still be running: check its machine first. After the unlock, the server
          refuses what that terraform writes.
        </p>
        ${ask(
          "Unlock…",
          html`<form method="post" action="/configurations/${id}/state/unlock">
            <button class="danger">It is no longer running: unlock</button>
          </form>`,
        )}
      </div>`;

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
    job_id === null ? "a person" : html`<a href="/jobs/${job_id}">job</a>`,
    String(resources),
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
