/** What has happened, as one sentence. Names in it come from people and other systems. */
import {
  withoutControlSequences,
  withVisibleDirections,
} from "../../../common/control-sequences.ts";
import type { EventName, NotificationEvent } from "../../../protocol/notification-events.ts";
import { approvalsText, changesText } from "../../../protocol/words.ts";

export type UntoldEvent = Omit<NotificationEvent, "text">;

/** Characters of a name or a reason in the sentence. */
const wordLimit = 300;

/** One line without control characters; characters that cannot be seen are shown. */
export function shownWord(text: string, limit = wordLimit): string {
  const line = withoutControlSequences(text.slice(0, 4 * limit))
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const characters = Array.from(line);
  const short = characters.length > limit ? `${characters.slice(0, limit - 1).join("")}…` : line;
  return withVisibleDirections(short);
}

const quoted = (name: string): string => `“${shownWord(name)}”`;

export function eventText(event: UntoldEvent): string {
  const { type } = event;
  const text = type.startsWith("audit.")
    ? auditText(event)
    : sentences[type as keyof typeof sentences](event);
  // A name keeps its letters.
  const begun = text.replace(
    /^(a|the|this) /,
    (word) => word.charAt(0).toUpperCase() + word.slice(1),
  );
  return `${begun}${/[.!?…]$/.test(text) ? "" : "."}`;
}

type Sentence = (event: UntoldEvent) => string;

const sentences: Readonly<Record<Exclude<EventName, `audit.${string}`>, Sentence>> = {
  "job.queued": (event) => `${actor(event)} queued ${job(event)}`,
  "job.started": (event) => `${job(event)} has started`,
  "job.succeeded": (event) => `${job(event)} succeeded${changes(event)}`,
  "job.failed": (event) => `${job(event)} failed`,
  "job.cancelled": (event) => `${job(event)} was cancelled by ${actor(event)}`,
  "job.outcome_unknown": (event) =>
    `the runner of ${job(event)} is lost, so it is not known what was changed`,
  "approval.needed": (event) =>
    event.data.pull_request
      ? `a person must let commit ${shownWord(event.data.pull_request.commit).slice(0, 12)} of the pull request ${quoted(event.data.pull_request.name)}, which comes from a fork, be planned`
      : `${job(event)} needs ${approvals(event)}${changes(event)}`,
  "approval.given": (event) => `${actor(event)} approved ${job(event)}${stillMissing(event)}`,
  "approval.refused": (event) =>
    `${actor(event)} rejected ${job(event)}${because(event.data.comment)}`,
  "plan.destructive": (event) =>
    `the plan of ${configuration(event)} deletes or replaces resources${changes(event)}`,
  deployed: (event) => `${configuration(event)} is deployed${changes(event)}`,
  destroyed: (event) => `${configuration(event)} is destroyed`,
  "drift.found": (event) =>
    `${configuration(event)} differs from what was deployed${drifted(event)}`,
  "drift.gone": (event) => `${configuration(event)} is again what was deployed`,
  "worker.offline": (event) => `the runner ${named(event.data.worker)} is offline`,
  "worker.online": (event) => `the runner ${named(event.data.worker)} is online again`,
  "queue.stalled": ({ data, ...event }) =>
    `${job({ data, ...event })} has waited ${data.minutes ?? "too many"} minutes in the queue${because(data.reason)}`,
  "state.locked_without_job": (event) =>
    `the state of ${configuration(event)} is locked, and no job holds the lock`,
  "schedule.skipped": ({ data, ...event }) =>
    `the schedule ${named(data.schedule)} skipped a run${event.configuration ? ` of ${quoted(event.configuration.name)}` : ""}${because(data.reason)}`,
  "schedule.expires": (event) => `${configuration(event)} will be destroyed${at(event)}`,
  "connection.broken": ({ data }) =>
    `the connection ${named(data.connection)} does not work${because(data.reason)}`,
  "connection.mended": ({ data }) => `the connection ${named(data.connection)} works again`,
  "token.expires": (event) => `the access token ${named(event.data.token)} expires${at(event)}`,
  ping: () => "this is a test of a notification rule",
};

function auditText({ type, actor: by, data: { target } }: UntoldEvent): string {
  const name = target?.name ?? target?.id;
  const what = name ? ` of ${quoted(name)}` : "";
  return `the audit log has ${type.slice("audit.".length)}${what}${by?.name ? ` by ${shownWord(by.name)}` : ""}`;
}

const actor = ({ actor: by }: UntoldEvent): string => (by?.name ? shownWord(by.name) : "Windlass");

const configuration = ({ configuration: it }: UntoldEvent): string =>
  it ? quoted(it.name) : "a configuration";

const named = (thing: { readonly name: string } | undefined): string =>
  thing ? quoted(thing.name) : "of this space";

function job({ job: it, configuration: of }: UntoldEvent): string {
  const type = it?.job_type ?? "job";
  return of ? `the ${type} of ${quoted(of.name)}` : `a ${type}`;
}

const changes = ({ job: it }: UntoldEvent): string =>
  it?.changes ? ` (${changesText(it.changes)})` : "";

const approvals = ({ data: { missing } }: UntoldEvent): string =>
  missing === undefined ? "approval" : approvalsText(missing);

const stillMissing = ({ data: { missing } }: UntoldEvent): string =>
  missing === undefined || missing === 0 ? "" : `, which needs ${approvalsText(missing)} more`;

const drifted = ({ data: { resources } }: UntoldEvent): string =>
  resources === undefined ? "" : `: ${resources} ${resources === 1 ? "resource" : "resources"}`;

const because = (reason: string | undefined): string => (reason ? `: ${shownWord(reason)}` : "");

/** `at 2026-11-27 22:10 UTC`. */
const at = ({ data: { expires_at: time } }: UntoldEvent): string =>
  time === undefined ? " soon" : ` at ${time.slice(0, 16).replace("T", " ")} UTC`;
