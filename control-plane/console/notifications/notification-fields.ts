/** The fields of a notification rule. Only those of the chosen kind show; the style sheet does that. */
import { happenings } from "../../../protocol/happenings.ts";
import { stalledMinutes, type NotificationKind } from "../../../protocol/notifications.ts";
import { columns, choice, line, lines, radios } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { placeOptions, type Place } from "../places.ts";
import { kindWords, notificationKinds } from "./kind-words.ts";

/** Where the fields are in the API: what is wrong with others is said above the form. */
export const paths = [
  "name",
  "events",
  "to.url",
  "to.addresses",
  "zone_id",
  "configuration_id",
  "stalled_minutes",
];

export const nameField = (form: Form): Html =>
  line(form, { name: "name", label: "Name", required: true, placeholder: "on call" });

export const kindFields = (form: Form): Html =>
  radios(
    form,
    { name: "kind", label: "Send to" },
    notificationKinds.map((kind) => [
      kind,
      kindWords[kind].name,
      html`<p>${kindWords[kind].text}</p>`,
    ]),
  );

/** `kind`: of a rule that is changed; a new one may have any. */
export const destinationFields = (form: Form, kind: NotificationKind | null): Html => {
  const url = line(form, {
    name: "url",
    path: "to.url",
    label: "Address",
    placeholder: "https://",
    secret: kind === "slack" || kind === "teams",
    ...(kind === "slack" || kind === "teams"
      ? { hint: "Empty: the one that is stored stays." }
      : {}),
  });
  const addresses = lines(form, {
    name: "addresses",
    path: "to.addresses",
    label: "Addresses",
    placeholder: "ada@example.com",
    hint: "One on each line.",
  });
  if (kind !== null) return kind === "email" ? addresses : url;
  return html`<div data-for="webhook slack teams">${url}</div>
    <div data-for="email">${addresses}</div>`;
};

const ticked = Object.entries(happenings).filter(([name]) => name !== "ping");

const isTicked = (event: string): boolean => ticked.some(([name]) => name === event);

/** What the ticks cannot say goes into the text. */
export const eventFields = (events: readonly string[]) => ({
  events: events.filter(isTicked),
  more_events: events.filter((event) => !isTicked(event)).join("\n"),
});

export const eventsField = (form: Form): Html => {
  const chosen = form.all("events");
  return html`<fieldset class="events">
      <legend>Events</legend>
      ${ticked.map(
        ([name, when]) =>
          html`<label class="tick"
            ><input
              type="checkbox"
              name="events"
              value="${name}"
              autocomplete="off"
              ${chosen.includes(name) ? html`checked` : null}
            />
            <span>${when.charAt(0).toUpperCase()}${when.slice(1)}</span></label
          >`,
      )}
    </fieldset>
    ${lines(form, {
      name: "more_events",
      path: "events",
      label: "Further events",
      placeholder: "audit.*",
      hint: "Names, or the beginning of names, one on each line: audit.member.remove, approval.*",
    })}`;
};

export const otherFields = (form: Form, places: readonly Place[]): Html =>
  columns(
    choice(form, { name: "place", label: "Only events of" }, [
      ["", "The whole space"],
      ...placeOptions(places),
    ]),
    line(form, {
      name: "stalled_minutes",
      label: "A job has waited too long after (minutes)",
      numeric: true,
      placeholder: String(stalledMinutes.default),
    }),
  );
