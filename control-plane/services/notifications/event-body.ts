/** An event as receivers get it. */
import {
  eventBodyLimit,
  type EventName,
  type NotificationEvent,
} from "../../../protocol/notification-events.ts";
import { time } from "../../domain/moments.ts";
import type { Queries } from "../../store/db.ts";
import type { EventRow } from "../../store/events/events.ts";
import { findSurroundings } from "../../store/notifications/deliveries.ts";
import type { Context } from "../context.ts";
import { eventText } from "./event-text.ts";

/** The name of the space and the counts of the plan are those of now, all else of when it happened. */
export async function eventOf(
  context: Pick<Context, "publicUrl">,
  read: Queries,
  row: EventRow,
): Promise<NotificationEvent> {
  const { owner_id: owner, job_id, spec_id, zone_id } = row;
  const around = await read.first(findSurroundings, { owner, job: job_id ?? "" });
  const url = context.publicUrl();
  const job = JSON.parse(row.job ?? "null") as Pick<
    NonNullable<NotificationEvent["job"]>,
    "job_type" | "status" | "created_by"
  > | null;
  const event = {
    id: row.event_id,
    type: row.type as EventName,
    time: time(row.created_at),
    sequence: row.sequence ?? 0,
    space: { id: owner, name: around?.space ?? "" },
    zone: zone_id === null ? null : { id: zone_id, name: row.zone_name ?? "" },
    configuration:
      spec_id === null
        ? null
        : { id: spec_id, name: row.spec_name ?? "", url: `${url}/configurations/${spec_id}` },
    job:
      job === null || job_id === null
        ? null
        : {
            ...job,
            id: job_id,
            url: `${url}/jobs/${job_id}`,
            changes: JSON.parse(around?.counts ?? "null") as null,
          },
    actor: JSON.parse(row.actor ?? "null") as NotificationEvent["actor"],
    data: JSON.parse(row.data) as NotificationEvent["data"],
  };
  return { ...event, text: eventText(event) };
}

/** The body of a webhook. What is of one kind of event only is left out if it is too long. */
export function bodyOf(event: NotificationEvent): string {
  const body = JSON.stringify(event);
  return Buffer.byteLength(body) <= eventBodyLimit ? body : JSON.stringify({ ...event, data: {} });
}
