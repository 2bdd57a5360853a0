import type { Connection } from "../../../protocol/connections.ts";
import { line, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { empty } from "../page/empty.ts";
import { html, type Html } from "../page/html.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { table } from "../page/table.ts";
import { ago, badge } from "../page/words.ts";
import {
  addressField,
  credentialFields,
  kindFields,
  nameField,
  otherFields,
  paths,
} from "./connection-fields.ts";
import { hostWords } from "./host-words.ts";

export const connectionsPage = (
  { items: connections, next }: ListPage<Connection>,
  now: string,
): Html =>
  html`<div class="page-head">
      <div>
        <h1>Connections</h1>
        <p class="soft">
          A connection to a code host lets configurations follow branches: pull requests show their
          plans, and a push plans or deploys.
        </p>
      </div>
      <div class="actions"><a class="button" href="/connections/new">New connection</a></div>
    </div>
    <div id="connections" data-live>
      ${
        connections.length === 0
          ? empty({
              icon: "cable",
              title: "No connection yet",
              text: html`Connect GitHub, GitLab, Bitbucket Cloud, Forgejo or Gitea with an App or a
              token. Then choose the connection in the settings of a configuration with a git
              source, under “Follow a branch”.`,
            })
          : table(
              "Connections",
              ["Name", "Status", "Host", "Account", "Last event", "Last look"],
              connections.map((one) => [
                html`<a href="/connections/${one.id}">${one.name}</a>`,
                standing(one),
                html`${hostWords[one.kind].name}, ${one.base_url.replace(/^https:\/\//, "")}`,
                one.account ?? "–",
                timeOf(one.last_event_at, now),
                timeOf(one.last_poll_at, now),
              ]),
            )
      }
    </div>
    ${olderLink("/connections", next, "connections")}`;

export const standing = ({ error, last_poll_at }: Connection): Html =>
  error !== null
    ? badge("FAILED", "Failing")
    : last_poll_at === null
      ? badge("NEW", "Not tried yet")
      : badge("ONLINE", "Working");

export const timeOf = (time: string | null, now: string): Html | string =>
  time === null ? "Never" : ago(time, now);

export const newConnectionPage = (form: Form): Html =>
  html`<nav class="trail" aria-label="Above"><a href="/connections">Connections</a></nav>
    <h1>New connection</h1>
    <form method="post" action="/connections/new" class="form by-kind">
      ${trouble(form, paths)} ${kindFields(form)} ${nameField(form)} ${addressField(form)}
      ${credentialFields(form, null)}
      <details class="more">
        <summary>More settings</summary>
        ${otherFields(form)}
        <div data-for="github_app github gitlab forgejo">
          ${line(form, {
            name: "api_url",
            label: "Address of the API",
            hint: "If it is not at the usual place below the address of the server.",
          })}
        </div>
      </details>
      <p><button>Connect</button></p>
    </form>`;
