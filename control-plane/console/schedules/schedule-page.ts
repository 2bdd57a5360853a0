/** One schedule: what it does, when it comes, what it did, and its changes. */
import type { Schedule } from "../../../protocol/schedules.ts";
import { ask, sentence, trouble } from "../page/fields.ts";
import { figure, figures } from "../page/figures.ts";
import { markOf, type Form, type FormsOf } from "../page/form.ts";
import { html, type Html } from "../page/html.ts";
import { deleteSection, row, switchSection } from "../page/rare.ts";
import { count } from "../page/words.ts";
import { placeView, type Place } from "../places.ts";
import { scheduleButtons, scheduleFields, timesView } from "./schedule-fields.ts";
import { fieldsOf } from "./schedule-input.ts";
import { clockThere, kindWords, lastView, nextView, standing, whenText } from "./schedule-words.ts";

export interface ScheduleViewModel {
  readonly schedule: Schedule;
  readonly places: readonly Place[];
  /** When it comes next, and after that. */
  readonly times: readonly string[];
  /** Of a form that is not saved yet. */
  readonly preview: Html | null;
  /** What a run that a person asked for has come to. */
  readonly ran?: { readonly skipped?: string };
  readonly now: string;
}

export const schedulePage = (model: ScheduleViewModel, forms: FormsOf): Html => {
  const { schedule, places, times, preview, ran, now } = model;
  const path = `/schedules/${schedule.id}`;
  return html`<nav class="trail" aria-label="Above"><a href="/schedules">Schedules</a></nav>
    <div class="page-head">
      <div>
        <header class="title" id="standing" data-live>
          <h1>${schedule.name}</h1>
          ${standing(schedule)}
        </header>
        <p class="soft">${kindWords[schedule.kind].name} of ${placeView(schedule, places)}</p>
      </div>
      <div class="actions">${runForm(schedule, path)}</div>
    </div>
    ${trouble(forms("run"))} ${ran && ranView(ran)}
    <div id="state" data-live>${stateView(model)}</div>
    ${
      schedule.enabled
        ? html`<section aria-labelledby="next">
            <h2 id="next">Next runs</h2>
            <div id="times" data-live>${timesView(schedule, times, now)}</div>
          </section>`
        : null
    }
    <div class="rare">
      ${row(
        { id: "edit", title: "Change" },
        "What waits for its minute in the window is dropped.",
        editForm(schedule, path, forms("edit", fieldsOf(schedule)), places, preview),
      )}
      ${switchSection(path, "schedule", schedule.enabled, forms, {
        disable: "It queues nothing until it is enabled again. Jobs that are queued stay.",
        enable: "It continues with its next time. What has been missed is not made up for.",
      })}
      ${deleteSection(path, "schedule", forms("remove"), {
        text: "Its jobs stay.",
        obstacle: null,
      })}
    </div>`;
};

/** What changes infrastructure asks first. */
const runForm = ({ kind, name }: Schedule, path: string): Html => {
  const form = (button: Html) => html`<form method="post" action="${path}/run">${button}</form>`;
  if (kind === "drift" || kind === "plan") return form(html`<button>Run now</button>`);
  const words = kind === "destroy" ? "Destroy now" : "Deploy now";
  return ask(
    "Run now…",
    html`<p>It does not wait for its time: “${name}” queues its jobs now.</p>
      ${form(html`<button ${kind === "destroy" ? html`class="danger"` : null}>${words}</button>`)}`,
  );
};

const ranView = ({ skipped }: { readonly skipped?: string }): Html =>
  skipped === undefined
    ? html`<p class="notice flow" role="status">
        A job of each configuration of the zone is queued. <a href="/jobs">Jobs</a>
      </p>`
    : html`<p class="error flow" role="alert">Nothing was queued: ${sentence(skipped)}</p>`;

const stateView = ({ schedule, now }: ScheduleViewModel): Html => {
  const { last, next_at, timezone, starts_at, ends_at, window_minutes } = schedule;
  const bounds = [
    window_minutes > 0 ? ` · spread over ${count(window_minutes, "minute")}` : null,
    starts_at && html` · not before ${clockThere(starts_at, timezone)}`,
    ends_at && html` · not after ${clockThere(ends_at, timezone)}`,
  ];
  return html`${
    last?.skipped === undefined
      ? null
      : html`<p class="notice flow">The last run was skipped: ${sentence(last.skipped)}</p>`
  }
  ${figures([
    figure(
      "Next",
      nextView(schedule, now),
      next_at === null ? "" : html`${clockThere(next_at, timezone)} ${timezone}`,
    ),
    figure("Last", lastView(schedule, now), last === null ? "" : clockThere(last.at, timezone)),
    figure("Comes", whenText(schedule), html`<code>${schedule.cron}</code>${bounds}`),
  ])}`;
};

const editForm = (
  schedule: Schedule,
  path: string,
  form: Form,
  places: readonly Place[],
  preview: Html | null,
): Html =>
  html`<form method="post" action="${path}" class="form by-kind">
    <input type="hidden" name="seen" value="${markOf(fieldsOf(schedule))}" />
    ${scheduleFields(form, places, path)} ${preview} ${scheduleButtons("Save")}
  </form>`;
