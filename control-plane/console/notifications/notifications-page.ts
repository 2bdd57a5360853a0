/** The list of notification rules, and the page of a new one. */
import type { Delivery, Notification } from "../../../protocol/notifications.ts";
import { empty } from "../page/empty.ts";
import { trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { table } from "../page/table.ts";
import { ago, badge, count } from "../page/words.ts";
import type { Place } from "../places.ts";
import { kindWords } from "./kind-words.ts";
import {
  destinationFields,
  eventsField,
  kindFields,
  nameField,
  otherFields,
  paths,
} from "./notification-fields.ts";

export const notificationsPage = (
  { items: rules, next }: ListPage<Notification>,
  now: string,
): Html =>
  html`<div class="page-head">
      <div>
        <h1>Notifications</h1>
        <p class="soft">
          A rule sends events, such as a needed approval, to a webhook, to Slack or Teams, or by
          e-mail.
        </p>
      </div>
      <div class="actions"><a class="button" href="/notifications/new">New rule</a></div>
    </div>
    <div id="notifications" data-live>
      ${
        rules.length === 0
          ? empty({
              icon: "bell",
              title: "No rule yet",
              text: "Make one, and choose the events that people should not have to look for: a needed approval, a failed deployment, a runner that is gone.",
            })
          : table(
              "Notification rules",
              ["Name", "Status", "To", "Events", "Last delivery"],
              rules.map((one) => [
                html`<a href="/notifications/${one.id}">${one.name}</a>`,
                standing(one),
                destinationOf(one),
                one.events.length > 3 ? count(one.events.length, "event") : one.events.join(", "),
                one.last_delivery ? lastDelivery(one.last_delivery, now) : "None yet",
              ]),
            )
      }
    </div>
    ${olderLink("/notifications", next, "rules")}`;

export const destinationOf = ({ to }: Notification): string =>
  `${kindWords[to.kind].name}, ${to.host ?? count(to.addresses?.length ?? 0, "address").replace("addresss", "addresses")}`;

export const standing = ({ enabled, error, last_delivery: last }: Notification): Html =>
  !enabled
    ? badge("CANCELLED", "Disabled")
    : error !== null
      ? badge("FAILED", "Failing")
      : last === null
        ? badge("NEW", "Nothing sent yet")
        : last.error === null
          ? badge("ONLINE", "Working")
          : badge("WARNING", "Last attempt failed");

export const deliveryBadge = ({ status }: Delivery): Html =>
  status === "delivered"
    ? badge("SUCCESS", "Delivered")
    : status === "retrying"
      ? badge("QUEUED", "Waits")
      : badge("FAILED", "Given up");

const lastDelivery = (last: Delivery, now: string): Html =>
  html`${deliveryBadge(last)} ${last.sent_at && ago(last.sent_at, now)}`;

export const newNotificationPage = (form: Form, places: readonly Place[]): Html =>
  html`<nav class="trail" aria-label="Above"><a href="/notifications">Notifications</a></nav>
    <h1>New notification rule</h1>
    <form method="post" action="/notifications/new" class="form by-kind">
      ${trouble(form, paths)} ${nameField(form)} ${kindFields(form)}
      ${destinationFields(form, null)} ${eventsField(form)} ${otherFields(form, places)}
      <p><button>Make the rule</button></p>
    </form>`;
