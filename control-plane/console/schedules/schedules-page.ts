/** The list of schedules, and the page of a new one. */
import type { Schedule } from "../../../protocol/schedules.ts";
import { empty } from "../page/empty.ts";
import type { Form } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { olderLink, type ListPage } from "../page/list.ts";
import { table } from "../page/table.ts";
import { placeOptions, placeView, type Place } from "../places.ts";
import { scheduleButtons, scheduleFields } from "./schedule-fields.ts";
import { kindWords, lastView, nextView, standing, whenText } from "./schedule-words.ts";

interface SchedulesViewModel {
  readonly schedules: ListPage<Schedule>;
  readonly places: readonly Place[];
  /** Whose are shown; empty: of all. */
  readonly place: string;
  readonly now: string;
}

export const schedulesPage = ({ schedules, places, place, now }: SchedulesViewModel): Html => {
  const options = placeOptions(places);
  // The list of names is cut.
  const isOffered = place === "" || options.some(([value]) => value === place);
  const offered: readonly Place[] = isOffered ? options : [[place, place], ...options];
  const query = place === "" ? "" : `?place=${place}`;
  return html`<div class="page-head">
      <div>
        <h1>Schedules</h1>
        <p class="soft">
          A schedule queues jobs at times of the clock: checks for drift, plans, deployments or
          destructions.
        </p>
      </div>
      <div class="actions"><a class="button" href="/schedules/new${query}">New schedule</a></div>
    </div>
    ${
      schedules.items.length === 0 && place === ""
        ? null
        : html`<form method="get" action="/schedules" class="filters">
            <label
              >Of
              <select name="place">
                ${[["", "the whole space"] as const, ...offered].map(
                  ([value, name]) =>
                    html`<option value="${value}" ${value === place ? html`selected` : null}>
                      ${name}
                    </option>`,
                )}
              </select></label
            >
            <button class="quiet">Show</button>
          </form>`
    }
    <div id="schedules" data-live>
      ${
        schedules.items.length > 0
          ? scheduleTable("Schedules", schedules.items, now, places)
          : place === ""
            ? empty({
                icon: "calendar-clock",
                title: "No schedule yet",
                text: "Check every night whether something has drifted, deploy in the morning what is destroyed in the evening, or plan every Monday what has become old.",
              })
            : html`<p class="soft">None of this one.</p>`
      }
    </div>
    ${olderLink(`/schedules${query}`, schedules.next, "schedules")}`;
};

/** `places`: where it says of what they are. */
const scheduleTable = (
  title: string,
  schedules: readonly Schedule[],
  now: string,
  places?: readonly Place[],
): Html =>
  table(
    title,
    ["Name", "Status", "Does", ...(places ? ["Of"] : []), "When", "Next", "Last"],
    schedules.map((one) => [
      html`<a href="/schedules/${one.id}">${one.name}</a>`,
      standing(one),
      kindWords[one.kind].name,
      ...(places ? [placeView(one, places)] : []),
      whenText(one),
      nextView(one, now),
      html`${lastView(one, now)}${
        one.last?.skipped === undefined
          ? null
          : html`<span class="soft clamp">${one.last.skipped}</span>`
      }`,
    ]),
  );

/** Those of a zone, or that run a configuration, on its page. */
export const schedulesSection = (
  schedules: readonly Schedule[],
  place: string,
  now: string,
): Html =>
  html`<section aria-labelledby="schedules-title">
    <h2 id="schedules-title">Schedules</h2>
    ${schedules.length === 0 ? null : scheduleTable("When its jobs are queued", schedules, now)}
    <p>
      ${schedules.length === 0 ? html`<span class="soft">None.</span>` : null}
      <a href="/schedules/new?place=${place}">New schedule</a>
    </p>
  </section>`;

export const newSchedulePage = (form: Form, places: readonly Place[], preview: Html | null): Html =>
  html`<nav class="trail" aria-label="Above"><a href="/schedules">Schedules</a></nav>
    <h1>New schedule</h1>
    <form method="post" action="/schedules/new" class="form by-kind">
      ${scheduleFields(form, places)} ${preview} ${scheduleButtons("Make the schedule")}
    </form>`;
