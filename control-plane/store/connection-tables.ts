/** The tables of connections to code hosts, as types (tables.ts). */
import type { ConnectionKind } from "../../protocol/connections.ts";

/** Epoch milliseconds. */
type Millis = number;
type Json = string;

export interface ConnectionsTable {
  id: string;
  owner_id: string;
  name: string;
  kind: ConnectionKind;
  base_url: string;
  api_url: string;
  /** Whose credential it is, as the host said at the last check. */
  account: string | null;
  status_name: string;
  poll_seconds: number;
  /** Its credentials and webhook secrets: a sealed definition whose environment they are. */
  secrets: Json;
  last_event_at: Millis | null;
  last_poll_at: Millis | null;
  poll_at: Millis;
  error: string | null;
  error_since: Millis | null;
  created_at: Millis;
  updated_at: Millis;
}

/** Events that have arrived, so that a repeated one is known. */
export interface ConnectionEventsTable {
  connection_id: string;
  delivery_id: string;
  received_at: Millis;
}
