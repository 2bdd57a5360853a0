import type { EventName } from "../../../protocol/notification-events.ts";
import type { Delivery } from "../../../protocol/notifications.ts";
import { timeOrNull } from "../../domain/moments.ts";
import type { DeliveryRow } from "../../store/notifications/deliveries.ts";

export const viewDelivery = (row: DeliveryRow): Delivery => ({
  id: row.id,
  event_id: row.event_name,
  event: row.type as EventName,
  attempt: row.attempt,
  status: row.status,
  response_status: row.response_status,
  error: row.error,
  duration_ms: row.duration_ms,
  sent_at: timeOrNull(row.sent_at),
  next_at: timeOrNull(row.next_at),
});
