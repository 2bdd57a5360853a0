/** Notification rules with deliveries, for sample pages. */
import { v7 as uuid } from "uuid";
import type { DeliveryRow } from "../../../control-plane/store/notifications/deliveries.ts";
import { readRows, setRows, type Plane } from "../plane/plane.ts";
import { addRows } from "../plane/rows.ts";
import type { SampleUser } from "../plane/sample-data.ts";

const minute = 60_000;

/** Adds them and returns name and path of each page. */
export async function addSampleNotifications(
  plane: Plane,
  { client, owner }: SampleUser,
): Promise<Record<string, string>> {
  const { store } = plane.context;
  const now = Date.now();
  const make = async (name: string, kind: "webhook" | "slack" | "teams", events: string[]) => {
    const to = { kind, url: `https://${kind}.example.com/services/T0/B0` };
    const { id } = await client.call("createNotification", { body: { name, events, to } });
    return id;
  };
  let count = 0;
  const deliver = async (rule: string, type: string, change: Partial<DeliveryRow>) => {
    const event_name = `evt_${uuid()}`;
    await addRows(store, "events", {
      event_id: event_name,
      owner_id: owner.id,
      sequence: (count += 1),
      type,
      zone_id: null,
      zone_name: null,
      spec_id: null,
      spec_name: null,
      job_id: null,
      job: null,
      actor: null,
      about: null,
      data: "{}",
      rule_id: rule,
      once: null,
      created_at: now - 60 * minute,
    });
    const [event] = await readRows(plane, "events", { event_id: event_name });
    await addRows(store, "deliveries", {
      id: uuid(),
      owner_id: owner.id,
      rule_id: rule,
      event_id: Number(event?.id),
      event_name,
      type,
      about: null,
      status: "delivered",
      attempt: 1,
      response_status: 204,
      error: null,
      duration_ms: 84,
      sent_at: now - 30 * minute,
      next_at: null,
      first_failed_at: null,
      ...change,
    });
  };
  const works = await make("on call", "webhook", [
    "approval.needed",
    "job.outcome_unknown",
    "audit.release.*",
  ]);
  await deliver(works, "ping", { sent_at: now - 3000 * minute });
  await deliver(works, "approval.needed", { sent_at: now - 190 * minute, duration_ms: 132 });
  await deliver(works, "approval.needed", {
    status: "retrying",
    attempt: 3,
    response_status: 503,
    error: "HTTP 503",
    duration_ms: 9876,
    sent_at: now - 2 * minute,
    next_at: now + 8.5 * minute,
    first_failed_at: now - 5 * minute,
  });
  await deliver(works, "job.outcome_unknown", { sent_at: now - 1 * minute, response_status: 200 });
  const failing = await make("platform channel", "slack", ["worker.offline"]);
  await deliver(failing, "worker.offline", {
    status: "given_up",
    response_status: 410,
    error: "HTTP 410",
    sent_at: now - 200 * minute,
  });
  const gone = "the receiver has answered 410 Gone";
  const disabled = { enabled: 0 as const, error: gone, error_since: now - 200 * minute };
  await setRows(plane, "notification_rules", disabled, { id: failing });
  await make("releases", "teams", ["audit.release.publish"]);
  return {
    notification: `/notifications/${works}`,
    "notification-failing": `/notifications/${failing}`,
  };
}
