/** The tables of events and notifications, as types (tables.ts). */
import type { Generated } from "kysely";

/** Epoch milliseconds. */
type Millis = number;
type Json = string;

/** Which events go where. */
export interface NotificationRulesTable {
  id: string;
  owner_id: string;
  name: string;
  kind: "webhook" | "slack" | "teams" | "email";
  /** Names of events, and beginnings of names such as `job.*`. */
  events: Json;
  /** Only events of this zone, or of this configuration. */
  zone_id: string | null;
  spec_id: string | null;
  stalled_minutes: number;
  enabled: 0 | 1;
  /** Of the address; null for `email`. */
  host: string | null;
  /** Of `email` only. */
  addresses: Json | null;
  /** The address and the signing secrets: a sealed definition whose environment they are. */
  secrets: Json;
  error: string | null;
  error_since: Millis | null;
  created_at: Millis;
  updated_at: Millis;
}

/** What has happened, in spaces with a rule that may want it. Kept 30 days. */
interface EventsTable {
  /** In the order of changes of one configuration. */
  id: Generated<number>;
  /** As receivers know it. */
  event_id: string;
  owner_id: string;
  /** Null until its deliveries are made. */
  sequence: number | null;
  type: string;
  /** With their names at that time: they may be renamed or deleted before the delivery. */
  zone_id: string | null;
  zone_name: string | null;
  spec_id: string | null;
  spec_name: string | null;
  job_id: string | null;
  /** Its type, its status at that time and its creator. */
  job: Json | null;
  actor: Json | null;
  /** Events about one thing are delivered in order. Null: in any order. */
  about: string | null;
  data: Json;
  /** The one rule that gets it; null: each that selects it. */
  rule_id: string | null;
  /** Of what is told once: a second event of the space with the same value is not recorded. */
  once: string | null;
  created_at: Millis;
}

interface DeliveriesTable {
  id: string;
  owner_id: string;
  rule_id: string;
  event_id: number;
  /** Of the event, as the next two are: its `event_id`. */
  event_name: string;
  type: string;
  about: string | null;
  status: "delivered" | "retrying" | "given_up";
  /** Grows when an attempt begins. */
  attempt: number;
  response_status: number | null;
  error: string | null;
  duration_ms: number | null;
  sent_at: Millis | null;
  /** When it is due. While it is sent: when the attempt counts as lost. Null: it waits for an earlier one, or has ended. */
  next_at: Millis | null;
  first_failed_at: Millis | null;
}

export interface NotificationTables {
  notification_rules: NotificationRulesTable;
  events: EventsTable;
  deliveries: DeliveriesTable;
}
