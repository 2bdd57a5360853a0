/** The deliveries of a rule, and those that a person starts. */
import type { Delivery } from "../../../protocol/notifications.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import type { EventRow } from "../../store/events/events.ts";
import {
  advance,
  findDelivery,
  findEvent,
  findEventOnce,
  insertDeliveries,
  listDeliveries as listRows,
  setSequence,
  takeSequences,
  updateDelivery,
  type DeliveryFilter,
  type DeliveryRow,
} from "../../store/notifications/deliveries.ts";
import type { RuleRow } from "../../store/notifications/rules.ts";
import { person } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { recordEvent } from "../events/record.ts";
import { refusalLimits } from "../refusal-limit.ts";
import { eventOf } from "./event-body.ts";
import { findRow, noMail } from "./rules.ts";
import { send } from "./send.ts";
import { newDelivery } from "./spread.ts";
import { viewDelivery } from "./views.ts";

/** Deliveries of one rule that people start, in a minute. */
const startedLimit = 20;
const started = refusalLimits(startedLimit);

export async function listDeliveries(
  { store: { read } }: Context,
  user: UserCaller,
  id: string,
  filter: Omit<DeliveryFilter, "rule">,
): Promise<Delivery[]> {
  const { id: rule } = await findRow(read, user, id);
  const rows = await listRows(read, { rule, ...filter });
  return rows.map(viewDelivery);
}

/** Sends a `ping` now, also of a rule that is disabled. It is not retried. */
export async function testRule(context: Context, user: UserCaller, id: string): Promise<Delivery> {
  const { store, now } = context;
  const rule = await findRow(store.read, user, id);
  checkMayStart(context, rule);
  const { event, delivery } = await store.write(async (tx) => {
    const at = now();
    const { id, owner_id: owner } = await findRow(tx, user, rule.id);
    const once = `ping ${id} ${at}`;
    await recordEvent(tx, at, { type: "ping", owner, by: person(user), rule: id, once });
    const event = await tx.first(findEventOnce, { owner, once });
    if (!event) throw new Error("the event just recorded is not there");
    const sequence = await takeSequences(tx, owner, 1);
    await tx.run(setSequence, { id: event.id, sequence });
    const row = { ...newDelivery(rule, event, at), status: "given_up", next_at: null } as const;
    await insertDeliveries(tx, [row]);
    return { event: { ...event, sequence }, delivery: row };
  });
  return sendNow(context, rule, event, delivery);
}

/** Sends the same event once more. If that fails, a delivery that had ended stays ended. */
export async function redeliver(
  context: Context,
  user: UserCaller,
  id: string,
  delivery_id: string,
): Promise<Delivery> {
  const { read } = context.store;
  const rule = await findRow(read, user, id);
  const delivery = await read.first(findDelivery, { id: delivery_id, rule: rule.id });
  const event = delivery && (await read.first(findEvent, { id: delivery.event_id }));
  if (!event) throw notFound("delivery");
  checkMayStart(context, rule);
  return sendNow(context, rule, event, delivery);
}

function checkMayStart({ mail }: Context, { owner_id, kind }: RuleRow): void {
  if (kind === "email" && mail === null) throw new RefusalError("mail_not_configured", noMail);
  // By space: rules can be deleted and made again.
  const limit = started.of(owner_id);
  limit.check();
  limit.count();
}

async function sendNow(
  context: Context,
  rule: RuleRow,
  event: EventRow,
  { id, about }: DeliveryRow,
): Promise<Delivery> {
  const { store, now } = context;
  const begun = now();
  const outcome = await send(context, rule, await eventOf(context, store.read, event));
  const { error, response_status, duration_ms } = outcome;
  return store.write(async (tx) => {
    const row = await tx.first(findDelivery, { id, rule: rule.id });
    if (!row) throw notFound("delivery");
    const isOpen = row.status === "retrying" && error !== null;
    const change = {
      status: error === null ? "delivered" : isOpen ? "retrying" : "given_up",
      next_at: isOpen ? row.next_at : null,
      // The number decides when an open one is sent again.
      attempt: isOpen ? row.attempt : row.attempt + 1,
      sent_at: begun,
      error,
      response_status,
      duration_ms,
    } as const;
    await updateDelivery(tx, id, change);
    if (row.status === "retrying" && about !== null)
      await tx.run(advance, { rule: rule.id, about, now: now() });
    return viewDelivery({ ...row, ...change });
  });
}
