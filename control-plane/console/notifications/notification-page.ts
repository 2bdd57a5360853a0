/** One notification rule: how it stands, what it sends and sent, and its secret. */
import { happeningWords } from "../../../protocol/happenings.ts";
import type { Delivery, Notification } from "../../../protocol/notifications.ts";
import { sentence, trouble } from "../page/fields.ts";
import { markOf, type Form, type FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { deleteSection, rotateForm, row, switchSection } from "../page/rare.ts";
import { copyIcon, copyScript } from "../page/secret.ts";
import { table } from "../page/table.ts";
import { ago, clock, howLong, lengthOfTime } from "../page/words.ts";
import { placeOf, placeView, type Place } from "../places.ts";
import {
  destinationFields,
  eventsField,
  nameField,
  otherFields,
  paths,
} from "./notification-fields.ts";
import { editedFields } from "./notification-input.ts";
import { deliveryBadge, destinationOf, standing } from "./notifications-page.ts";

export interface NotificationViewModel {
  readonly rule: Notification;
  readonly deliveries: readonly Delivery[];
  readonly hasMore: boolean;
  readonly places: readonly Place[];
  /** What a form of it has just done. */
  readonly done?: { readonly delivery?: Delivery; readonly secret?: string };
  readonly now: string;
}

export const notificationPage = (model: NotificationViewModel, forms: FormsOf): Html => {
  const { rule, places, done = {} } = model;
  const path = `/notifications/${rule.id}`;
  return html`<nav class="trail" aria-label="Above"><a href="/notifications">Notifications</a></nav>
    <div class="page-head">
      <div>
        <header class="title" id="standing" data-live>
          <h1>${rule.name}</h1>
          ${standing(rule)}
        </header>
        <p class="soft">${destinationOf(rule)}</p>
      </div>
      <div class="actions">
        <form method="post" action="${path}/test"><button>Send a test</button></form>
      </div>
    </div>
    ${done.secret === undefined ? null : secretView(done.secret)} ${trouble(forms("test"))}
    ${trouble(forms("redeliver"))} ${done.delivery && resultView(done.delivery)}
    <div id="state" data-live>${errorView(rule)}</div>
    <section aria-labelledby="events">
      <h2 id="events">Sends</h2>
      <dl class="facts">
        ${rule.events.map(
          (event) =>
            html`<dt><code>${event}</code></dt>
              <dd>${sentence(happeningWords(event))}</dd>`,
        )}
        ${
          placeOf(rule) === ""
            ? null
            : html`<dt>Only of</dt>
                <dd>${placeView(rule, places)}</dd>`
        }
        ${
          rule.to.addresses &&
          html`<dt>To</dt>
            <dd>${rule.to.addresses.join(", ")}</dd>`
        }
      </dl>
    </section>
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">Last deliveries</h2>
      <div id="sent" data-live>${deliveriesView(model, path)}</div>
    </section>
    <div class="rare">
      ${row(
        { id: "edit", title: "Change" },
        "The kind of the rule stays.",
        editForm(rule, path, forms("edit", editedFields(rule)), places),
      )}
      ${
        rule.to.kind === "webhook"
          ? row(
              { id: "rotate", title: "New signing secret" },
              "Until the time that you choose is over, each delivery is signed with both. Replace the secret at the receiver by then.",
              rotateForm(path, "The old one signs for", forms),
            )
          : null
      }
      ${switchSection(path, "rule", rule.enabled, forms, {
        disable: "Nothing is sent until it is enabled again; what waits now is given up.",
        enable: "Events that have happened meanwhile are not sent.",
      })}
      ${deleteSection(path, "rule", forms("remove"), {
        text: "Its deliveries are deleted with it.",
        obstacle: null,
      })}
    </div>
    ${copyScript}`;
};

const secretView = (secret: string): Html =>
  html`<section class="notice flow" aria-labelledby="secret-head" role="status">
    <h2 id="secret-head">Signing secret</h2>
    <p><code id="secret">${secret}</code> ${copyIcon("secret", "Copy the secret")}</p>
    <p>
      It is shown only now. The receiver verifies with it that a delivery is genuine; the page
      Notifications of the documentation has receivers in three languages.
    </p>
  </section>`;

const resultView = (it: Delivery): Html =>
  it.status === "delivered"
    ? html`<p class="notice flow" role="status">It arrived${answerWords(it)}.</p>`
    : html`<p class="error flow" role="alert">
        It did not arrive. ${sentence(it.error ?? "The receiver refused it")}
      </p>`;

const answerWords = ({ response_status: status, duration_ms: took }: Delivery): string =>
  `${status === null ? "" : `: the answer was ${status}`}${took === null ? "" : `, after ${howLong(took)}`}`;

const errorView = ({ error, enabled }: Notification): Html | null =>
  error &&
  html`<section class="error flow" aria-label="What is wrong">
    <p><strong>${sentence(error.message)}</strong> It began ${clock(error.since)}.</p>
    <p>
      ${
        enabled
          ? "Repair the receiver or its address and send a test. Then redeliver what was given up."
          : html`The server has disabled the rule. Repair the receiver, then
              <a href="#switch">enable the rule</a>.`
      }
    </p>
  </section>`;

function deliveriesView({ deliveries, hasMore, now }: NotificationViewModel, path: string): Html {
  if (deliveries.length === 0) return html`<p class="soft">None yet. A test sends one now.</p>`;
  return html`${table(
    "Deliveries, newest first",
    ["Event", "Status", "Sent", "Answer", "Took", "Next attempt", "Repeat"],
    deliveries.map((one) => [
      html`<code>${one.event}</code>`,
      deliveryBadge(one),
      one.sent_at ? ago(one.sent_at, now) : "Not yet",
      one.error ?? (one.response_status === null ? "–" : String(one.response_status)),
      one.duration_ms === null ? "–" : howLong(one.duration_ms),
      nextWords(one, now),
      html`<form method="post" action="${path}/deliveries/${one.id}/redeliver">
        <button class="quiet" aria-label="Send ${one.event} again">Send again</button>
      </form>`,
    ]),
  )}
  ${
    hasMore
      ? html`<p class="soft">
          Older ones: <code>windlass notifications deliveries</code>, or the HTTP API.
        </p>`
      : null
  }`;
}

const nextWords = ({ next_at, attempt }: Delivery, now: string): Html | string => {
  if (next_at === null) return "–";
  const seconds = Math.round((Date.parse(next_at) - Date.parse(now)) / 1000);
  const when = seconds <= 0 ? "now" : `in ${lengthOfTime(seconds)}`;
  return html`<time datetime="${next_at}">${when}</time
    >${attempt > 0 ? ` (attempt ${attempt + 1})` : ""}`;
};

const editForm = (rule: Notification, path: string, form: Form, places: readonly Place[]): Html =>
  html`<form method="post" action="${path}" class="form">
    <input type="hidden" name="seen" value="${markOf(editedFields(rule))}" />
    ${trouble(form, paths, path)} ${nameField(form)} ${destinationFields(form, rule.to.kind)}
    ${eventsField(form)} ${otherFields(form, places)}
    <button class="quiet">Save</button>
  </form>`;
