/** What the pages say in words: times with their zone, lengths of time, states and reasons. */
import type { Job, JobStatus } from "../../../protocol/jobs.ts";
import type { PlanCounts } from "../../../protocol/plan-counts.ts";
import { changesResources, changesText, failedChecksWords } from "../../../protocol/words.ts";
import { isWaiting, waitingParts } from "../../../protocol/waiting-words.ts";
import { html, type Html } from "./html.ts";
import { icon, type IconName } from "./icons.ts";

/** `2026-11-21 10:15:02 UTC`. */
export const clock = (time: string): Html =>
  html`<time datetime="${time}">${plainTime(time)}</time>`;

/** Formats the time before `now`, such as `12 s ago`, with the exact time as a tooltip. */
export const ago = (time: string, now: string): Html =>
  html`<time datetime="${time}" title="${plainTime(time)}">${age(time, now)} ago</time>`;

/** Formats the time that is left until then, such as `in 5 min`. */
export const until = (time: string, now: string): Html =>
  html`<time datetime="${time}" title="${plainTime(time)}">in ${age(now, time)}</time>`;

/** Formats the time since then, such as `12 s`, with the exact time as a tooltip. */
export const sinceThen = (time: string, now: string): Html =>
  html`<time datetime="${time}" title="${plainTime(time)}" data-duration>${age(time, now)}</time>`;

/** A length of time that ended then, with the time of its end as a tooltip. */
export const endedAt = (time: string, took: string): Html =>
  html`<time datetime="${time}" title="ended ${plainTime(time)}" data-said="ended" data-duration
    >${took}</time
  >`;

export const plainTime = (time: string): string => `${time.slice(0, 19).replace("T", " ")} UTC`;

/** In whole seconds, as the browser counts it on. */
const age = (from: string, to: string): string =>
  lengthOfTime(Math.round(millisecondsBetween(from, to) / 1000));

/** How long from one time to another. */
export const between = (from: string, to: string): string => howLong(millisecondsBetween(from, to));

/** With tenths below a second. */
export const howLong = (milliseconds: number): string =>
  milliseconds < 950 ? shortTime(milliseconds) : lengthOfTime(Math.round(milliseconds / 1000));

const millisecondsBetween = (from: string, to: string): number =>
  Math.max(0, Date.parse(to) - Date.parse(from));

/** `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`; a second part of 0 is left out. */
export function lengthOfTime(seconds: number): string {
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit));
  if (days) return lengthOf([days, "d"], [hours! % 24, "h"]);
  if (hours) return lengthOf([hours, "h"], [minutes! % 60, "min"]);
  if (minutes) return lengthOf([minutes, "min"], [seconds % 60, "s"]);
  return lengthOf([seconds, "s"]);
}

/** It stays on one line: the spaces in it do not break. */
const lengthOf = (...parts: readonly (readonly [number, string])[]): string =>
  parts
    .filter(([number], place) => place === 0 || number > 0)
    .map(([number, unit]) => `${number}\u00a0${unit}`)
    .join("\u00a0");

/** Shorter than a minute with tenths: `0.4 s`, `12.3 s`, `3 min 20 s`. */
export const shortTime = (milliseconds: number): string =>
  milliseconds < 59_950
    ? `${Math.round(milliseconds / 100) / 10}\u00a0s`
    : lengthOfTime(Math.round(milliseconds / 1000));

/** How much: `512 B`, `1.4 kB`, `3.1 MB`; on one line. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes}\u00a0B`;
  return bytes < 1e6
    ? `${(bytes / 1000).toFixed(1)}\u00a0kB`
    : `${(bytes / 1e6).toFixed(1)}\u00a0MB`;
}

/** A number of things: `1 job`, `3 jobs`. */
export const count = (number: number, thing: string): string =>
  `${number} ${thing}${number === 1 ? "" : "s"}`;

const signLooks: Readonly<Record<string, string>> = {
  "+": "create",
  "~": "update",
  "±": "replace",
  "−": "delete",
};

/** What a plan changes in short, each sign in its colour. */
export const changesView = (counts: PlanCounts): Html =>
  changesResources(counts)
    ? html`<span class="counts"
        >${changesText(counts)
          .split(" ")
          .map((part) => html`<span class="${signLooks[part.charAt(0)]}">${part}</span> `)}</span
      >`
    : html`<span class="soft">${changesText(counts)}</span>`;

/** How a status looks to people: its word and its icon. The colour is the style sheet's. */
const looks: Readonly<Record<string, readonly [word: string, icon: IconName]>> = {
  QUEUED: ["Queued", "clock"],
  PROCESSING: ["Running", "loader"],
  SUCCESS: ["Succeeded", "check"],
  FAILED: ["Failed", "x"],
  CANCELLED: ["Cancelled", "ban"],
  ONLINE: ["Online", "plug"],
  OFFLINE: ["Offline", "power-off"],
  DRAINING: ["Draining", "pause"],
  "NEVER STARTED": ["Never started", "circle-dashed"],
  WARNING: ["Warning", "triangle-alert"],
  NEW: ["New", "circle-dashed"],
  DEPLOYING: ["Deploying", "loader"],
  DEPLOYED: ["Deployed", "check"],
  DESTROYING: ["Destroying", "loader"],
  DESTROYED: ["Destroyed", "trash-2"],
  approval: ["Needs approval", "user-check"],
};

export const statuses = Object.keys(looks);

/** The word of a status; of another text, the text. */
export const statusWord = (status: string): string => looks[status]?.[0] ?? status;

/** A status with its colour and icon; `words` stand in place of its own. */
export const badge = (status: string, words = statusWord(status)): Html =>
  html`<span class="badge ${status}">${icon(looks[status]?.[1] ?? "circle-dashed")}${words}</span>`;

/** The status of a job, whether it waits for people, and whether checks failed. */
export function jobBadge({
  status,
  needs_approval = false,
  ...job
}: {
  readonly status: JobStatus;
  readonly needs_approval?: boolean;
  readonly failed_checks?: number | null;
}): Html {
  const [warning] = failedChecksWords(job);
  if (warning !== undefined) return badge("WARNING", `${statusWord(status)}, ${warning}`);
  return badge(needs_approval ? "approval" : status);
}

/** Null for jobs that are not queued. */
export function waiting(
  job: Pick<Job, "waiting_reason" | "waiting_details" | "configuration_id">,
): Html | null {
  if (!isWaiting(job)) return null;
  const state =
    job.waiting_reason === "state_locked" && job.configuration_id !== null
      ? html` <a href="/configurations/${job.configuration_id}/state">The state</a>`
      : null;
  const parts = waitingParts(job).map((part, place) => {
    const text = typeof part === "string" ? part : part.text;
    const shown = place === 0 ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text;
    return typeof part === "string"
      ? shown
      : html`<a href="/${part.what}s/${part.id}">${shown}</a>`;
  });
  return html`${parts}.${state}`;
}

/** Whether a job can still change. */
export const isOpen = (status: JobStatus): boolean =>
  status === "QUEUED" || status === "PROCESSING";
