/** What the pages of schedules say in words: what one does, when it comes and how it stands. */
import { cronText } from "../../../common/cron.ts";
import type { Schedule, ScheduleKind } from "../../../protocol/schedules.ts";
import { clockAt } from "../../domain/cron.ts";
import { html, type Html } from "../page/html.ts";
import { ago, badge, plainTime, until } from "../page/words.ts";

interface KindWords {
  readonly name: string;
  readonly text: string;
}

export const kindWords: Readonly<Record<ScheduleKind, KindWords>> = {
  drift: {
    name: "Drift check",
    text: "Looks whether what is deployed has changed. Nothing is changed.",
  },
  plan: { name: "Plan", text: "Shows what a deployment would do. Nothing is deployed." },
  deploy: {
    name: "Deploy",
    text: "Deploys the configuration without a person, unless it has an approval rule: then it plans, and the deployment of that plan waits for the approvals.",
  },
  destroy: {
    name: "Destroy",
    text: "Destroys what is deployed without a person, unless the configuration has an approval rule: then it plans, and the destruction waits for the approvals.",
  },
};

export const scheduleKinds = Object.keys(kindWords) as ScheduleKind[];

export const standing = ({ enabled, next_at, last }: Schedule): Html =>
  !enabled
    ? badge("CANCELLED", "Disabled")
    : last?.skipped !== undefined
      ? badge("WARNING", "Skipped")
      : next_at === null
        ? badge("CANCELLED", "Ended")
        : badge("SUCCESS", "Active");

/** `Monday to Friday at 06:30, Europe/Berlin`. */
export const whenText = ({ cron, timezone }: Pick<Schedule, "cron" | "timezone">): string =>
  `${cronText(cron) ?? cron}, ${timezone}`;

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** As a clock there shows it, whatever zone the reader has chosen for times: `Tue 2026-12-01 06:30`. */
export function clockThere(time: string, timezone: string): Html {
  const shown = clockAt(timezone, Date.parse(time));
  const weekday = weekdays[new Date(`${shown}Z`).getUTCDay()];
  return html`<time datetime="${time}" title="${plainTime(time)}" data-duration
    >${weekday} ${shown.replace("T", "\u00a0")}</time
  >`;
}

export const nextView = ({ next_at, enabled }: Schedule, now: string): Html | string =>
  next_at !== null ? until(next_at, now) : enabled ? "Never again" : "–";

export const lastView = ({ last }: Schedule, now: string): Html | string =>
  last === null
    ? "Not yet"
    : last.job_id !== undefined
      ? html`<a href="/jobs/${last.job_id}">Queued ${ago(last.at, now)}</a>`
      : html`${last.skipped === undefined ? "Queued" : "Skipped"} ${ago(last.at, now)}`;
