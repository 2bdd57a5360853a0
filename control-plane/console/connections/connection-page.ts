/** One connection: how it stands, what it may do, whom it serves, and its webhooks. */
import type { Connection, ConnectionCheck } from "../../../protocol/connections.ts";
import type { RepositoryList } from "../../../protocol/repositories.ts";
import type { listFollowers } from "../../services/connections/attention.ts";
import { line, sentence, trouble } from "../page/fields.ts";
import { figure, figures } from "../page/figures.ts";
import { markOf, type Form, type FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { deleteSection, rotateForm, row } from "../page/rare.ts";
import { copyIcon, copyScript } from "../page/secret.ts";
import { table } from "../page/table.ts";
import { badge, clock, lengthOfTime } from "../page/words.ts";
import { credentialFields, nameField, otherFields, paths } from "./connection-fields.ts";
import { standing, timeOf } from "./connections-page.ts";
import { hostWords } from "./host-words.ts";

export interface ConnectionViewModel {
  readonly connection: Connection;
  readonly followers: Awaited<ReturnType<typeof listFollowers>>;
  /** What a form of it has just done. */
  readonly done?: {
    readonly check?: ConnectionCheck;
    /** The repository whose webhook is registered. */
    readonly registered?: string;
    /** Shown this once. */
    readonly webhook_secret?: string;
  };
  readonly now: string;
}

export const editedFields = ({ name, status_name, poll_seconds }: Connection) => ({
  name,
  status_name,
  poll_seconds: String(poll_seconds),
});

export const connectionPage = (model: ConnectionViewModel, forms: FormsOf): Html => {
  const { connection, followers, done = {}, now } = model;
  const { id, name, kind, base_url, account } = connection;
  const path = `/connections/${id}`;
  return html`<nav class="trail" aria-label="Above"><a href="/connections">Connections</a></nav>
    <div class="page-head">
      <div>
        <header class="title" id="standing" data-live>
          <h1>${name}</h1>
          ${standing(connection)}
        </header>
        <p class="soft">${hostWords[kind].name} · ${base_url}</p>
      </div>
      <div class="actions">
        <form method="post" action="${path}/check">
          <button>Check the permissions</button>
        </form>
        <a class="button quiet" href="${path}/repositories">Repositories</a>
      </div>
    </div>
    ${done.webhook_secret === undefined ? null : secretNotice} ${trouble(forms("check"))}
    ${done.check && checkView(done.check)}
    <div id="state" data-live>
      ${errorOf(connection)}
      ${figures([
        figure("Account", account ?? "Unknown", account === null ? "a check asks the host" : ""),
        figure("Last event", timeOf(connection.last_event_at, now), "a webhook of the host"),
        figure(
          "Last look",
          timeOf(connection.last_poll_at, now),
          `every ${lengthOfTime(connection.poll_seconds)}`,
        ),
      ])}
    </div>
    ${kind === "github_app" && account === null ? createAppForm(connection, forms("app")) : null}
    ${followersView(followers)}
    <section aria-labelledby="webhook">
      <h2 id="webhook">Webhook</h2>
      <p>
        Windlass registers it when a configuration begins to follow a branch, if the credential may.
        Otherwise add it yourself. Without it, changes are found every
        ${lengthOfTime(connection.poll_seconds)}.
      </p>
      ${webhookFacts(connection, done.webhook_secret)}
      ${done.registered && html`<p role="status">The webhook of ${done.registered} is registered.</p>`}
      ${registerForm(connection, forms("webhook"))}
    </section>
    <div class="rare">
      ${row(
        { id: "edit", title: "Change" },
        "The kind and the address of the host stay.",
        editForm(connection, forms("edit", editedFields(connection))),
      )}
      ${row(
        { id: "rotate", title: "New webhook secret" },
        "The old secret stays valid for the time that you choose. Until then, replace it in every webhook of this connection.",
        rotateForm(path, "The old one stays valid for", forms),
      )}
      ${deleteSection(path, "connection", forms("remove"), {
        text: "Its credentials are deleted. Webhooks at the host stay, and are refused.",
        obstacle:
          followers.length > 0
            ? "It cannot be deleted while configurations follow a branch through it: end that in their settings first."
            : null,
      })}
    </div>
    ${copyScript}`;
};

const errorOf = ({ error, kind }: Connection): Html | null =>
  error &&
  html`<section class="error flow" aria-label="What is wrong">
    <p><strong>${sentence(error.message)}</strong> It began ${clock(error.since)}.</p>
    <p>
      Check the permissions. If the ${kind === "github_app" ? "key" : "token"} has expired or was
      revoked, make a new one at the host and enter it <a href="#edit">below</a>. Windlass tries
      again by itself, and this goes away when the host answers.
    </p>
  </section>`;

const secretNotice = html`<p class="notice flow" role="status">
  The secret of the <a href="#webhook">webhook</a> is shown only now. You need it only for a
  webhook, or an App, that you make by hand.
</p>`;

const checkView = ({ account, permissions, warnings }: ConnectionCheck): Html =>
  html`<section aria-labelledby="check">
    <h2 id="check">What ${account} may do</h2>
    ${table(
      "Permissions",
      ["Permission", "Status", "Needed for"],
      permissions.map(({ name, present, prevents }) => [
        html`<code>${name}</code>`,
        present ? badge("ONLINE", "Present") : badge("FAILED", "Missing"),
        sentence(prevents),
      ]),
    )}
    ${warnings.map((warning) => html`<p class="notice flow">${sentence(warning)}</p>`)}
  </section>`;

const followersView = (followers: ConnectionViewModel["followers"]): Html =>
  html`<section aria-labelledby="followers">
    <h2 id="followers">Followed by</h2>
    ${
      followers.length === 0
        ? html`<p class="soft">
            No configuration yet: choose the connection in the settings of one with a git source,
            under “Follow a branch”.
          </p>`
        : table(
            "Configurations that follow a branch through it",
            ["Configuration", "Repository", "Branch"],
            followers.map(({ id, name, repository, branch }) => [
              html`<a href="/configurations/${id}/settings#follow">${name}</a>`,
              repository,
              branch,
            ]),
          )
    }
  </section>`;

/** What to paste at the host; the secret only where it was just made. */
const webhookFacts = ({ kind, events_url }: Connection, secret?: string): Html =>
  html`<dl class="facts">
    <dt>Add it at</dt>
    <dd>${hostWords[kind].place}</dd>
    <dt>Address</dt>
    <dd><code id="events">${events_url}</code> ${copyIcon("events", "Copy the address")}</dd>
    <dt>Content type</dt>
    <dd><code>application/json</code></dd>
    <dt>Secret</dt>
    <dd>
      ${
        secret === undefined
          ? html`shown once, when it is made; <a href="#rotate">make a new one</a> if you lost it`
          : html`<code id="secret">${secret}</code> ${copyIcon("secret", "Copy the secret")}`
      }
    </dd>
    <dt>Events</dt>
    <dd>${hostWords[kind].events}</dd>
  </dl>`;

/** Begins to create the App of a connection. */
const createAppForm = ({ id }: Connection, form: Form): Html =>
  html`<section aria-labelledby="app">
    <h2 id="app">App</h2>
    <p>GitHub creates it with the permissions that Windlass needs.</p>
    <form method="post" action="/connections/${id}/app" class="form row">
      ${line(form, { name: "organization", label: "Organization at GitHub (empty: your own account)" })}
      <button>Create the App at GitHub</button>
    </form>
  </section>`;

const registerForm = ({ id, kind }: Connection, form: Form): Html | null =>
  kind === "github_app"
    ? null
    : html`<form method="post" action="/connections/${id}/webhooks" class="form row">
        ${trouble(form, ["repository"])}
        ${line(form, {
          name: "repository",
          label: "Let Windlass register it for the repository",
          placeholder: "owner/name",
          required: true,
        })}
        <button class="quiet">Register</button>
      </form>`;

const editForm = (connection: Connection, form: Form): Html =>
  html`<form method="post" action="/connections/${connection.id}" class="form">
    <input type="hidden" name="seen" value="${markOf(editedFields(connection))}" />
    ${trouble(form, paths, `/connections/${connection.id}`)} ${nameField(form)}
    ${credentialFields(form, connection.kind)} ${otherFields(form)}
    <button class="quiet">Save</button>
  </form>`;

/** The repositories that it reaches. `form`: refused if the host did not answer. */
export const repositoriesPage = (
  { id, name, kind }: Connection,
  { repositories, next_cursor }: RepositoryList,
  form: Form,
): Html =>
  html`<nav class="trail" aria-label="Above">
      <a href="/connections">Connections</a> / <a href="/connections/${id}">${name}</a>
    </nav>
    <h1>Repositories</h1>
    ${form.refusal === undefined ? null : html`<p class="error" role="alert">${sentence(form.refusal.message)}</p>`}
    ${
      repositories.length === 0
        ? html`<p class="soft">
            The connection reaches none.
            ${kind === "github_app" ? "Install the App for the repositories to follow." : "Give the account of its token access to the repositories to follow."}
          </p>`
        : table(
            "Repositories",
            ["Repository", "Default branch", "Visible to", "Clone address"],
            repositories.map((one) => [
              one.full_name,
              one.default_branch ?? "no commit yet",
              one.private ? "members" : "everyone",
              html`<code>${one.clone_url}</code>`,
            ]),
          )
    }
    ${
      next_cursor === null
        ? null
        : html`<p>
            <a href="/connections/${id}/repositories?cursor=${next_cursor}">More repositories</a>
          </p>`
    }`;
