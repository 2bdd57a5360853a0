/** The branch that a configuration follows: what it shows, and the form in its settings. */
import type { Configuration } from "../../../protocol/configurations.ts";
import type { Connection } from "../../../protocol/connections.ts";
import { followDefaults, type Follow, type WriteFollow } from "../../../protocol/follow.ts";
import type { PullRequest } from "../../../protocol/pull-requests.ts";
import { withheldWarnings } from "../../domain/follow.ts";
import { ask, choice, columns, line, lines, sentence, tick, trouble } from "../page/fields.ts";
import { figure } from "../page/figures.ts";
import { markOf, type Form, type FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { pullRequestList, shortCommit } from "../pull-requests/pull-request-list.ts";

/** For the head of the configuration. */
export const followFigure = ({ branch, repository, seen_commit, connection_id }: Follow): Html =>
  figure(
    "Follows",
    branch,
    html`<a href="/connections/${connection_id}">${repository}</a>
      ${seen_commit === null ? "before the first look" : html`at ${shortCommit(seen_commit)}`}`,
  );

/** The open pull requests onto the followed branch. */
export const openPullRequests = (
  { id, name, follow }: Configuration,
  pulls: readonly PullRequest[],
  seesAll: boolean,
  now: string,
): Html | null => {
  if (!follow) return null;
  const query = new URLSearchParams({ configuration: id }).toString();
  return html`<h2>Open pull requests</h2>
    ${
      pulls.length === 0
        ? html`<p class="soft">
            None onto
            ${follow.branch}${follow.pull_requests === "off" ? ", and none would be planned" : ""}.
          </p>`
        : pullRequestList(pulls, now)
    }
    ${seesAll ? html`<p><a href="/pull-requests?${query}">All pull requests of ${name}</a></p>` : null}`;
};

/** What the form writes. */
export const writtenOf = (follow: Follow | null): WriteFollow | null => {
  if (follow === null) return null;
  const { repository: _, seen_commit: _commit, warnings: _warnings, ...written } = follow;
  return written;
};

const values = [
  ["plain", "those that are not sensitive"],
  ["none", "none"],
  ["all", "all of them, and the cloud identity (role admin)"],
] as const;

export const followSection = (
  configuration: Configuration,
  connections: readonly Connection[],
  seesAll: boolean,
  forms: FormsOf,
): Html => {
  const { id, source, follow = null } = configuration;
  const before = writtenOf(follow);
  const { trigger_paths, commands, ...rest } = { ...followDefaults, ...before };
  const form = forms("follow", {
    ...rest,
    trigger_paths: trigger_paths.join("\n"),
    commands: commands ? "on" : "",
  });
  const action = `/configurations/${id}/settings/follow`;
  const words = follow ? "Change what it follows…" : "Follow a branch…";
  return html`<section aria-labelledby="follow">
    <h2 id="follow">Follow a branch</h2>
    <p>${follow ? followText(follow) : "Pushes and pull requests start nothing."}</p>
    ${noticeOf(follow?.warnings ?? [])}
    ${trouble(form, paths, `/configurations/${id}/settings#follow`)}
    <div class="actions">
      ${
        source.type !== "git"
          ? html`<p class="soft">Only a configuration with a git source can follow a branch.</p>`
          : connections.length === 0
            ? html`<p class="soft">
                ${
                  seesAll
                    ? html`First <a href="/connections/new">connect the code host</a> of
                        ${source.url}.`
                    : "The first time, someone with a role in the whole team chooses the connection."
                }
              </p>`
            : ask(words, followForm(configuration, connections, form, action), !!form.refusal)
      }
      ${
        follow
          ? ask(
              "Stop following…",
              html`<p>Pushes and pull requests start nothing then. Its jobs and plans stay.</p>
                <form method="post" action="${action}">
                  <input type="hidden" name="end" value="on" />
                  <button class="danger">Stop following</button>
                </form>`,
            )
          : null
      }
    </div>
  </section>`;
};

const followText = ({ branch, repository, pull_requests, push, connection_id }: Follow): Html =>
  html`It follows <strong>${branch}</strong> of
    <a href="/connections/${connection_id}">${repository}</a>: a pull request
    ${pull_requests === "plan" ? "is planned" : "starts nothing"}, and a push
    ${push === "off" ? "starts nothing" : push === "plan" ? "is planned" : "is planned and deployed"}.`;

/** Where the fields are in the API. */
const paths = ["connection_id", "branch", "trigger_paths"].map((name) => `follow.${name}`);

const followForm = (
  configuration: Configuration,
  connections: readonly Connection[],
  form: Form,
  action: string,
): Html =>
  html`<form method="post" action="${action}" class="form follow">
    <input type="hidden" name="seen" value="${markOf(writtenOf(configuration.follow ?? null))}" />
    ${columns(
      choice(
        form,
        { name: "connection_id", label: "Connection", path: "follow.connection_id" },
        connections.map(({ id, name }) => [id, name]),
      ),
      line(form, {
        name: "branch",
        label: "Branch",
        path: "follow.branch",
        hint: "Empty: the default branch of the repository.",
      }),
    )}
    ${columns(
      choice(form, { name: "pull_requests", label: "A pull request onto it" }, [
        ["plan", "is planned"],
        ["off", "starts nothing"],
      ]),
      choice(form, { name: "push", label: "A push to it" }, [
        ["plan", "is planned"],
        ["deploy", "is planned, then deployed"],
        ["off", "starts nothing"],
      ]),
    )}
    ${columns(
      choice(form, { name: "comment", label: "Comment on the pull request" }, [
        ["changes", "for plans with changes, and failures"],
        ["always", "for every plan"],
        ["off", "never"],
      ]),
      choice(form, { name: "forks", label: "Pull requests of forks" }, [
        ["off", "start nothing"],
        ["approved", "are planned once a person approves (role admin)"],
      ]),
    )}
    ${choice(
      form,
      {
        name: "values",
        label: "Values that plans of pull requests get",
        hint: "Such a plan runs code of its author, who can read what it gets.",
      },
      values,
    )}
    ${values.map(([name]) => withheld(configuration, name))}
    ${lines(form, {
      name: "trigger_paths",
      label: "Other files that start a plan",
      path: "follow.trigger_paths",
      placeholder: "modules/**",
      hint: "Patterns as in .gitignore, one per line, from the top of the repository. The directory of the source and its local modules always do.",
    })}
    ${tick(form, "commands", "Comments such as “windlass plan” on a pull request start jobs (role admin)")}
    <p><button>Save</button></p>
  </form>`;

/** What plans of pull requests lack with this choice; the style sheet shows that of the chosen one. */
const withheld = (configuration: Configuration, name: Follow["values"]): Html => {
  const warnings = withheldWarnings(
    { values: name, pull_requests: "plan" },
    configuration,
    configuration.cloud_identity_id !== null,
  );
  return html`<div data-for="${name}">${noticeOf(warnings)}</div>`;
};

const noticeOf = (warnings: readonly string[]): Html | null =>
  warnings.length === 0
    ? null
    : html`<p class="notice flow">${warnings.map(sentence).join(" ")}</p>`;

export function followIn(form: Form): { follow: unknown } {
  if (form.isOn("end")) return { follow: null };
  const branch = form.word("branch");
  const words = ["connection_id", "pull_requests", "push", "comment", "forks", "values"] as const;
  return {
    follow: {
      ...Object.fromEntries(words.map((name) => [name, form.text(name)])),
      ...(branch === "" ? {} : { branch }),
      trigger_paths: form.linesOf("trigger_paths"),
      commands: form.isOn("commands"),
    },
  };
}
