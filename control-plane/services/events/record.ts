/**
 * Events, of which notifications tell (services/notifications). An event is a row that is written in
 * the transaction of what has happened, and only in a space with a rule that may want it.
 */
import { v7 as uuid } from "uuid";
import type { AuditActorKind } from "../../../protocol/audit.ts";
import type {
  EventData,
  EventName,
  NotificationEvent,
} from "../../../protocol/notification-events.ts";
import type { JobRow } from "../../domain/job.ts";
import type { Queries } from "../../store/db.ts";
import { insertEvent } from "../../store/events/events.ts";

export interface EventRecord {
  readonly type: EventName;
  /** The space. */
  readonly owner: string;
  /** Ids. The zone may be left out of what has a configuration. */
  readonly zone?: string | null | undefined;
  readonly configuration?: string | null | undefined;
  /** As it is after the change. */
  readonly job?: Pick<JobRow, "id" | "job_type" | "status" | "created_by"> | undefined;
  readonly by: { readonly kind: AuditActorKind; readonly name: string | null };
  /** Small, and never a log line, a variable or the value of an output. */
  readonly data?: EventData;
  /** What it is about, if that is no configuration: events about one thing are delivered in order. */
  readonly about?: string;
  /** The rule that alone gets it. */
  readonly rule?: string;
  /** Names what is told once: in this space, no second event with this text is recorded. */
  readonly once?: string;
}

export async function recordEvent(tx: Queries, now: number, event: EventRecord): Promise<void> {
  const { type, owner, zone = null, configuration = null, job, by, data = {} } = event;
  const [first = "", second] = type.split(".");
  await tx.run(insertEvent, {
    event_id: `evt_${uuid()}`,
    owner_id: owner,
    type,
    zone_id: zone,
    spec_id: configuration,
    job_id: job?.id ?? null,
    job: job
      ? JSON.stringify({ job_type: job.job_type, status: job.status, created_by: job.created_by })
      : null,
    actor: JSON.stringify(actorOf(by)),
    about: configuration ?? event.about ?? null,
    data: JSON.stringify(data),
    rule_id: event.rule ?? null,
    once: event.once ?? null,
    created_at: now,
    // Of three parts at most. `ping` is sent to its rule, whatever that selects.
    selection: type === "ping" ? "" : `"${type}"`,
    prefix: `"${first}.*"`,
    longer_prefix: `"${first}.${second}.*"`,
  });
}

type EventActor = NonNullable<NotificationEvent["actor"]>;

const actorKinds: Partial<Record<AuditActorKind, EventActor["kind"]>> = {
  session: "user",
  cli_login: "user",
  access_token: "token",
  connection: "connection",
  schedule: "schedule",
};

/** Of the system's own changes there is no name. */
function actorOf({ kind, name }: EventRecord["by"]): EventActor {
  const of = actorKinds[kind] ?? "system";
  return { kind: of, name: of === "system" ? "Windlass" : (name ?? "") };
}
