/** Gives events their sequence, and makes a delivery for each rule that wants one. */
import { v7 as uuid } from "uuid";
import { day } from "../../../common/units.ts";
import { selects } from "../../../protocol/notification-events.ts";
import type { Queries } from "../../store/db.ts";
import type { EventRow } from "../../store/events/events.ts";
import {
  advance,
  deleteSomeEvents,
  findNewEvents,
  insertDeliveries,
  setSequence,
  takeSequences,
  type DeliveryRow,
} from "../../store/notifications/deliveries.ts";
import { listRules, type RuleRow } from "../../store/notifications/rules.ts";
import type { Context } from "../context.ts";
import { rulesLimit } from "./rules.ts";

/** Events of one transaction: some milliseconds of the writer. */
const eventsAtOnce = 20;
/** After so many deliveries, the rest of the events go with the next transaction: each is for up to 50 rules. */
export const deliveriesAtOnce = 100;

const eventsKept = 30 * day;
const deletedAtOnce = 500;

/**
 * One transaction at a time that no change of a job runs beside: so the ids of the events that it
 * finds are in the order of their changes, and no earlier one comes later.
 */
export async function spreadEvents(
  { store, now }: Pick<Context, "store" | "now">,
  signal?: AbortSignal,
): Promise<void> {
  const find = { limit: eventsAtOnce };
  // A round that finds nothing takes no turn of the writer.
  while (!signal?.aborted && (await store.read.all(findNewEvents, { limit: 1 })).length > 0)
    await store.write(async (tx) => spread(tx, await tx.all(findNewEvents, find), now()));
}

async function spread(tx: Queries, events: readonly EventRow[], now: number): Promise<void> {
  const deliveries: DeliveryRow[] = [];
  const rules = new Map<string, RuleRow[]>();
  const spreading: EventRow[] = [];
  for (const event of events) {
    if (deliveries.length >= deliveriesAtOnce) break;
    const { owner_id: owner } = event;
    const its = rules.get(owner) ?? (await listRules(tx, owner, undefined, rulesLimit));
    rules.set(owner, its);
    const wanting = its.filter((rule) => wants(rule, event));
    deliveries.push(...wanting.map((rule) => newDelivery(rule, event, now)));
    spreading.push(event);
  }
  for (const [owner, own] of Map.groupBy(spreading, ({ owner_id }) => owner_id)) {
    const first = (await takeSequences(tx, owner, own.length)) - own.length + 1;
    for (const [index, { id }] of own.entries())
      await tx.run(setSequence, { id, sequence: first + index });
  }
  await insertDeliveries(tx, deliveries);
  const ordered = deliveries.filter(({ about }) => about !== null);
  const pairs = new Map(ordered.map((one) => [`${one.rule_id} ${one.about}`, one]));
  for (const { rule_id: rule, about } of pairs.values())
    await tx.run(advance, { rule, about: about ?? "", now });
}

const wants = (rule: RuleRow, event: EventRow): boolean =>
  rule.enabled === 1 &&
  (event.rule_id === null || event.rule_id === rule.id) &&
  (rule.spec_id === null || rule.spec_id === event.spec_id) &&
  (rule.zone_id === null || rule.zone_id === event.zone_id) &&
  (JSON.parse(rule.events) as string[]).some((selection) => selects(selection, event.type));

/** What is about something waits until `advance` makes it due. */
export const newDelivery = (
  { id: rule_id, owner_id }: RuleRow,
  { id: event_id, event_id: event_name, type, about }: EventRow,
  now: number,
): DeliveryRow => ({
  id: uuid(),
  owner_id,
  rule_id,
  event_id,
  event_name,
  type,
  about,
  status: "retrying",
  attempt: 0,
  response_status: null,
  error: null,
  duration_ms: null,
  sent_at: null,
  next_at: about === null ? now : null,
  first_failed_at: null,
});

export async function deleteOldEvents(
  { store, now }: Pick<Context, "store" | "now">,
  signal: AbortSignal,
): Promise<void> {
  const old = { before: now() - eventsKept, limit: deletedAtOnce };
  let deleted = old.limit;
  while (deleted === old.limit && !signal.aborted)
    deleted = (await store.write((tx) => tx.all(deleteSomeEvents, old))).length;
}
