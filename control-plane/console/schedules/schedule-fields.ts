/** The fields of a schedule, and its next times before it is saved. */
import type { Schedule } from "../../../protocol/schedules.ts";
import { choice, columns, line, radios, trouble } from "../page/fields.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { count, until } from "../page/words.ts";
import { placeOptions, type Place } from "../places.ts";
import { clockThere, kindWords, scheduleKinds, whenText } from "./schedule-words.ts";

/** Where the fields are in the API: what is wrong with others is said above the form. */
const paths = [
  "name",
  "configuration_id",
  "zone_id",
  "cron",
  "timezone",
  "window_minutes",
  "starts_at",
  "ends_at",
];

/** Of places that have another name since, the engine has only the old one. */
const renamed = [
  "America/Argentina/Buenos_Aires",
  "Asia/Ho_Chi_Minh",
  "Asia/Kolkata",
  "Europe/Kyiv",
];
const timezones = [
  ...new Set(["UTC", ...[...Intl.supportedValuesOf("timeZone"), ...renamed].toSorted()]),
];

export const scheduleFields = (form: Form, places: readonly Place[], path?: string): Html =>
  html`${trouble(form, paths, path)}
    ${line(form, { name: "name", label: "Name", required: true, placeholder: "nightly drift" })}
    ${radios(
      form,
      { name: "kind", label: "What it does" },
      scheduleKinds.map((kind) => [
        kind,
        kindWords[kind].name,
        html`<p>${kindWords[kind].text}</p>`,
      ]),
    )}
    ${choice(
      form,
      {
        name: "place",
        label: "Of",
        path: "configuration_id",
        hint: "Of a zone: of each of its configurations.",
      },
      [["", "Choose a zone or a configuration"], ...placeOptions(places)],
    )}
    ${columns(
      line(form, {
        name: "cron",
        label: "When (cron)",
        required: true,
        placeholder: "30 6 * * 1-5",
        hint: "Minute, hour, day of the month, month, day of the week.",
      }),
      line(form, {
        name: "timezone",
        label: "Time zone",
        required: true,
        offered: timezones,
        hint: "A name of the IANA database, such as Europe/Berlin.",
      }),
    )}
    ${line(form, {
      name: "window_minutes",
      label: "Spread over (minutes)",
      numeric: true,
      placeholder: "0",
      hint: "Of a zone: each configuration has its own minute in this window, which stays the same.",
    })}
    <details class="more" ${hasBounds(form) ? html`open` : null}>
      <summary>Not before, not after</summary>
      ${columns(
        line(form, { name: "starts_at", label: "Not before", moment: true, hint: inZone }),
        line(form, { name: "ends_at", label: "Not after", moment: true, hint: inZone }),
      )}
    </details>`;

const inZone = "As a clock in the time zone above shows it.";

const hasBounds = (form: Form): boolean =>
  ["starts_at", "ends_at"].some((name) => form.text(name) !== "" || form.wrong(name) !== undefined);

/** The button that saves comes first, so that Enter saves. */
export const scheduleButtons = (save: string): Html =>
  html`<p class="actions">
    <button>${save}</button>
    <button class="quiet" name="preview" value="on" formnovalidate>Show next runs</button>
  </p>`;

export const previewView = (
  it: Pick<Schedule, "cron" | "timezone" | "window_minutes">,
  times: readonly string[],
  now: string,
): Html =>
  html`<section class="notice flow" aria-labelledby="preview-title" role="status">
    <h2 id="preview-title">Next runs</h2>
    <p>${whenText(it)}. Nothing is saved yet.</p>
    ${timesView(it, times, now)}
  </section>`;

export const timesView = (
  { timezone, window_minutes: minutes }: Pick<Schedule, "timezone" | "window_minutes">,
  times: readonly string[],
  now: string,
): Html =>
  times.length === 0
    ? html`<p>It does not come any more.</p>`
    : html`<ul class="next-runs">
          ${times.map(
            (one) =>
              html`<li>
                ${clockThere(one, timezone)} <span class="soft">${until(one, now)}</span>
              </li>`,
          )}
        </ul>
        <p class="soft">
          As clocks in ${timezone} show
          it.${minutes > 0 ? ` Its jobs are spread over ${count(minutes, "minute")} from then on.` : ""}
        </p>`;
