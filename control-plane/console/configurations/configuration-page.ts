/**
 * The page of a configuration: how it stands, what it made, what is done with it, and its values.
 */
import type { Configuration } from "../../../protocol/configurations.ts";
import { timeoutSecondsDefault } from "../../../protocol/limits.ts";
import type { FailedJob } from "../../../protocol/failed-job.ts";
import { failedApply, outputsNote, sentence, stateWords } from "../../../protocol/words.ts";
import { actionsOf } from "./configuration-actions.ts";
import { deployedView } from "./deployed-view.ts";
import { lastFailed, standingBadge } from "./failed-view.ts";
import type { ConfigurationViewModel } from "./configuration-view-model.ts";
import { entriesView, entryKinds } from "./entries-view.ts";
import { jobsOfOne, linkTo } from "../jobs/job-table.ts";
import { ruleSection } from "../approvals/rule-view.ts";
import { runStrip } from "../jobs/run-strip.ts";
import { attachedSets } from "../variable-sets/attached-view.ts";
import { ask, trouble } from "../page/fields.ts";
import type { FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { outputs } from "./outputs-view.ts";
import { sourceView } from "./source-view.ts";
import { stateView } from "../states/state-view.ts";
import { clock, lengthOfTime, waiting } from "../page/words.ts";

export const configurationPage = (model: ConfigurationViewModel, forms: FormsOf): Html => {
  const { configuration, marks, zone } = model;
  const path = `/configurations/${configuration.id}`;
  return html`<nav class="trail" aria-label="Above">
      <a href="/zones">Zones</a> / <a href="/zones/${zone.id}">${zone.name}</a>
    </nav>
    <div id="standing" data-live>${standing(model)}</div>
    ${actionsOf(model, forms("start"))}
    <div id="outputs" data-live>${outputsOf(configuration)}</div>
    <section aria-labelledby="jobs-title">
      <h2 id="jobs-title">Jobs</h2>
      <div id="jobs" data-live>${history(model)}</div>
    </section>
    ${entryKinds.map((kind) => entriesView(path, configuration, marks, kind, forms))}
    ${attachedSets(path, model.sets, forms("sets"))}
    <section aria-labelledby="state-title">
      <h2 id="state-title">State</h2>
      ${trouble(forms("state"))}
      <div id="state" data-live>${stateView(model)}</div>
    </section>
    ${ruleSection(configuration, forms)}
    <section aria-labelledby="settings-title">
      <h2 id="settings-title">Settings</h2>
      ${facts(model)}
      <p>
        <a class="button quiet" href="/configurations/${configuration.id}/edit"
          >Edit the settings</a
        >
      </p>
    </section>
    <section aria-labelledby="delete-title">
      <h2 id="delete-title">Delete</h2>
      ${trouble(forms("remove"))}
      ${ask(
        "Delete this configuration…",
        html`<p>
            This also deletes its variables and all versions of its state; its jobs and their logs
            stay. You cannot delete it while it has a queued or running job, or while its state
            records resources: destroy them first.
          </p>
          <form method="post" action="/configurations/${configuration.id}/delete">
            <button class="danger">Delete the configuration</button>
          </form>`,
      )}
    </section>`;
};

const standing = ({ configuration, open, unapproved, lock, now }: ConfigurationViewModel): Html => {
  const { name, error_message, deployed } = configuration;
  const failed = failedApply(configuration);
  return html`<header class="title">
      <h1>${name}</h1>
      ${standingBadge(configuration)}
    </header>
    ${deployed === null ? null : html`<p>${deployedView(deployed, now)}</p>`}
    ${error_message === null ? null : html`<p class="error">${error_message}</p>`}
    ${failed === null ? null : html`<p class="notice flow">${failedNotice(failed, error_message, now)}</p>`}
    ${unapproved.map(
      ({ id, waiting_reason }) =>
        html`<p class="notice flow">
          A <a href="/jobs/${id}">DEPLOY</a> ${waiting_reason ?? "waits for approvals"}.
        </p>`,
    )}
    ${
      open === undefined
        ? null
        : html`<p class="notice flow">
            ${linkTo(open)} ${open.status === "QUEUED" ? "waits" : "runs"}. ${waiting(open)}
          </p>`
    }
    ${
      lock === null || lock.held
        ? null
        : html`<p class="notice flow">
            Its state is locked: jobs wait until it is unlocked. <a href="#state-title">See why</a>
          </p>`
    }`;
};

/** An apply that failed or was cancelled half-way; its message unless it is shown already. */
const failedNotice = (failed: FailedJob, shown: string | null, now: string): Html =>
  html`The
  ${lastFailed(failed, now)}${failed.error_message === null || shown?.includes(failed.error_message) ? "." : html`: ${sentence(failed.error_message)}`}
  This stays here until an apply or a destruction succeeds.`;

/** All of them, and the three that the interface names where a runner has reported them alone. */
const outputsOf = (configuration: Configuration): Html | null => {
  const { components } = configuration;
  const named = (["cluster_name", "cluster_endpoint", "gitops_url"] as const)
    .filter((name) => configuration[name] !== null && !components.some((one) => one.name === name))
    .map((name) => ({ name, type: "string", value: configuration[name], sensitive: false }));
  const all = [...named, ...components];
  const state = configuration.state_backend === "managed" ? "#state-title" : undefined;
  const shown = outputs(all, configuration.outputs_omitted, state);
  const note = outputsNote(configuration);
  if (shown === null || note === null) return shown;
  return html`${shown}
    <p class="soft">${note}</p>`;
};

const history = ({ configuration, jobs, runs, now }: ConfigurationViewModel): Html =>
  jobs.items.length === 0
    ? html`<p>
        No job yet. Start a Plan, which shows what terraform would do and changes nothing. Then
        deploy that plan from its page.
      </p>`
    : html`<p>${runStrip(configuration.id, runs, now, true)}</p>
        ${jobsOfOne(jobs.items, now, "Jobs of the configuration")}
        ${
          jobs.next === undefined
            ? null
            : html`<p>
                <a href="/configurations/${configuration.id}?jobs=${jobs.next}#jobs-title"
                  >Older jobs</a
                >
              </p>`
        }`;

const facts = ({ configuration, identity }: ConfigurationViewModel): Html => {
  const { source, engine, engine_version, labels, working_directory, project_name } = configuration;
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
    <dd>
      ${engine === "opentofu" ? "OpenTofu" : "Terraform"}${engine_version ? ` ${engine_version}` : ", the version on the worker"}
    </dd>
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
