/** What can happen that a notification tells of, and the event as a receiver gets it. */
import { Type, type Static } from "typebox";
import { kibibyte } from "../common/units.ts";
import { auditActions } from "./audit.ts";
import { about, Nullable, OneOf, Timestamp, Uuid } from "./fields.ts";
import { happenings, type Happening } from "./happenings.ts";
import { JobStatus, JobType } from "./jobs.ts";
import { PlanCounts } from "./plan-counts.ts";

export const eventNames = [
  ...(Object.keys(happenings) as Happening[]),
  ...auditActions.map((action) => `audit.${action}` as const),
];
export const EventName = OneOf(eventNames);
export type EventName = Static<typeof EventName>;

const prefixes = new Set(
  eventNames.flatMap((name) => {
    const parts = name.split(".");
    return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
  }),
);

/** What a rule may select: the name of an event, or `prefix.*`. */
export const eventSelections: readonly string[] = [
  ...eventNames,
  ...Array.from(prefixes, (prefix) => `${prefix}.*`),
];

/** Whether a rule with this selection gets the event. `ping` is sent to the rule that is tested. */
export const selects = (selection: string, event: string): boolean =>
  selection.endsWith(".*") ? event.startsWith(selection.slice(0, -1)) : selection === event;

/** Limit of the body of a webhook. */
export const eventBodyLimit = 64 * kibibyte;
/** Characters of a text in an event that another system or a person has written. */
export const eventTextLimit = 1000;

const Text = Type.String({ maxLength: eventTextLimit });
const named = { id: Uuid, name: Text };
const Url = about(Type.String(), "The page of the console.");

export const EventActorKind = OneOf(["user", "token", "connection", "schedule", "system"]);

/** What is of one kind of event only. All are absent where they say nothing. */
export const EventData = Type.Object({
  action: Type.Optional(about(Text, "`audit.*`: the recorded action.")),
  target: Type.Optional(
    about(
      Type.Object({ kind: Text, id: Nullable(Text), name: Nullable(Text) }),
      "`audit.*`: what it was done to.",
    ),
  ),
  missing: Type.Optional(about(Type.Integer(), "`approval.*`: the approvals still needed.")),
  comment: Type.Optional(about(Text, "`approval.*`: what the member has written.")),
  resources: Type.Optional(about(Type.Integer(), "`drift.found`: how many differ.")),
  reason: Type.Optional(
    about(Text, "Why: of `queue.stalled`, `schedule.skipped` and `connection.broken`."),
  ),
  minutes: Type.Optional(about(Type.Integer(), "`queue.stalled`: how long the job has waited.")),
  since: Type.Optional(about(Timestamp, "`worker.offline`, `state.*`: since when it is so.")),
  expires_at: Type.Optional(about(Timestamp, "`token.expires`, `schedule.expires`.")),
  worker: Type.Optional(Type.Object(named)),
  connection: Type.Optional(Type.Object(named)),
  pull_request: Type.Optional(
    about(
      Type.Object({ id: Uuid, name: Text, title: Text, commit: Text, url: Url }),
      "`approval.needed`: the pull request of a fork whose commit waits for a person who lets it be planned. `name`: its repository and number.",
    ),
  ),
  schedule: Type.Optional(Type.Object(named)),
  token: Type.Optional(Type.Object(named)),
});
export type EventData = Static<typeof EventData>;

export const NotificationEvent = Type.Object({
  id: about(Type.String(), "Of the event: the same in every delivery of it."),
  type: EventName,
  time: about(Timestamp, "When it happened."),
  sequence: about(Type.Integer(), "Grows by each event of the space."),
  space: Type.Object(named),
  zone: Nullable(Type.Object(named)),
  configuration: Nullable(Type.Object({ ...named, url: Url })),
  job: Nullable(
    Type.Object({
      id: Uuid,
      job_type: JobType,
      status: JobStatus,
      url: Url,
      changes: Nullable(PlanCounts),
      created_by: Nullable(Text),
    }),
  ),
  actor: Nullable(Type.Object({ kind: EventActorKind, name: Text })),
  text: about(Type.String(), "One sentence for people."),
  data: EventData,
});
export type NotificationEvent = Static<typeof NotificationEvent>;
