import type { CloudIdentity } from "../../../protocol/cloud-identities.ts";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Connection } from "../../../protocol/connections.ts";
import { timeoutSecondsDefault } from "../../../protocol/limits.ts";
import { stateWords } from "../../../protocol/words.ts";
import { ruleSection } from "../approvals/rule-view.ts";
import { ask, trouble } from "../page/fields.ts";
import type { FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { clock, lengthOfTime } from "../page/words.ts";
import { destroySection } from "./configuration-actions.ts";
import { engineInWords } from "./configuration-page.ts";
import { expirySection } from "./expiry-view.ts";
import { followSection } from "./follow-view.ts";
import { sourceView } from "./source-view.ts";

interface SettingsViewModel {
  readonly configuration: Configuration;
  readonly identity: CloudIdentity | null;
  readonly connections: readonly Connection[];
  /** Whether these are all connections of the space. */
  readonly seesAll: boolean;
  readonly now: string;
}

export const configurationSettings = (
  { configuration, identity, connections, seesAll, now }: SettingsViewModel,
  forms: FormsOf,
): Html =>
  html`<section class="settings" aria-label="Settings">
      ${facts(configuration, identity)}
      <p>
        <a class="button quiet" href="/configurations/${configuration.id}/edit"
          >Edit the settings</a
        >
      </p>
    </section>
    ${followSection(configuration, connections, seesAll, forms)}
    ${ruleSection(configuration, forms)} ${expirySection(configuration, forms, now)}
    <div class="danger-zone">
      ${destroySection(configuration, forms("destroy"))}
      <section aria-labelledby="delete-title">
        <h2 id="delete-title">Delete</h2>
        <p class="soft">
          Removes the configuration from Windlass. Nothing of your infrastructure changes.
        </p>
        ${trouble(forms("remove"))}
        ${ask(
          "Delete this configuration…",
          html`<p>
              This also deletes its variables and all versions of its state; its jobs and their logs
              stay. You cannot delete it while it has a queued or running job, or while its state
              records resources: destroy them first.
            </p>
            <form method="post" action="/configurations/${configuration.id}/settings/delete">
              <button class="danger">Delete the configuration</button>
            </form>`,
        )}
      </section>
    </div>`;

const facts = (configuration: Configuration, identity: CloudIdentity | null): Html => {
  const { source, labels, working_directory, project_name } = configuration;
  return html`<dl class="facts">
    <dt>Source</dt>
    <dd>${sourceView(source)}</dd>
    ${
      configuration.submodules
        ? html`<dt>Submodules</dt>
            <dd>fetched too</dd>`
        : null
    }
    <dt>Engine</dt>
    <dd>${engineInWords(configuration)}</dd>
    <dt>Working directory</dt>
    <dd>
      ${working_directory ? html`<code>${working_directory}</code>` : "the top of the source"}
    </dd>
    <dt>State</dt>
    <dd>${stateWords(configuration)}</dd>
    <dt>Files of variables</dt>
    <dd>${configuration.var_files?.join(", ") ?? "none"}</dd>
    <dt>Resources at once</dt>
    <dd>${configuration.parallelism ?? 10}</dd>
    <dt>Labels</dt>
    <dd>${labels.join(", ") || "none: any worker"}</dd>
    <dt>Cloud identity</dt>
    <dd>
      ${identity === null ? "none" : html`<a href="/identities/${identity.id}">${identity.name}</a>`}
    </dd>
    <dt>Time limit of a job</dt>
    <dd>${lengthOfTime(configuration.timeout_seconds ?? timeoutSecondsDefault)}</dd>
    <dt>Project name</dt>
    <dd>${project_name}</dd>
    <dt>Configuration</dt>
    <dd><code>${configuration.id}</code></dd>
    <dt>Created</dt>
    <dd>${clock(configuration.created_at)}</dd>
    <dt>Changed</dt>
    <dd>${clock(configuration.updated_at)}</dd>
  </dl>`;
};
