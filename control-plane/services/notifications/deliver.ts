/**
 * Sends what is due. A delivery is taken by moving its `next_at` beyond the attempt, so that of
 * several servers one sends it, and that of a server that was killed is sent again.
 */
import { setTimeout as pause } from "node:timers/promises";
import { day, hour, minute, second } from "../../../common/units.ts";
import {
  advance,
  endAttempt,
  findDue,
  findDueRules,
  findEvent,
  giveUpRule,
  takeDelivery,
  type DeliveryRow,
} from "../../store/notifications/deliveries.ts";
import {
  findAnyRule,
  lockRule,
  updateRule,
  type RuleRow,
} from "../../store/notifications/rules.ts";
import type { Queries } from "../../store/db.ts";
import { record, system } from "../audit/audit.ts";
import type { Context } from "../context.ts";
import { eventOf } from "./event-body.ts";
import { tellAdmins } from "./given-up.ts";
import { send, type Outcome } from "./send.ts";
import { spreadEvents } from "./spread.ts";

/** Longer than an attempt by mail may take: another server takes the delivery then. */
const lease = 30 * second;
/** Between two looks. */
const lookPeriod = second;
const leastPause = second / 20;

/** Attempts at one time: of this server, of a space, of a rule. */
const slots = { server: 32, space: 8, rule: 4 } as const;
/** Of rules whose last attempt failed: so that receivers which hang leave half of the slots to others. */
const slotsOfFailing = { server: slots.server / 2, rule: 1 } as const;
const failingKnown = 10_000;

const waits = [5 * second, 30 * second, 2 * minute, 10 * minute, hour];
const lastWait = 4 * hour;
/** Of the longest wait, so that what failed together does not return together. */
const jitter = 0.1;
const retriedMilliseconds = 5 * day;

export const waitAfter = (failures: number, random = Math.random()): number =>
  waits[failures - 1] ?? Math.round(lastWait * (1 + jitter * random));

/** Runs until the signal ends it, or something fails that is no receiver's fault. */
export async function deliver(context: Context, signal: AbortSignal): Promise<void> {
  const turns = new Turns();
  const failures: unknown[] = [];
  while (!signal.aborted && failures.length === 0) {
    await spreadEvents(context, signal);
    await startDue(context, turns, (delivery) =>
      deliverOne(context, delivery, signal).catch((error: unknown) => {
        failures.push(error);
        return true;
      }),
    );
    const rest = pause(lookPeriod, undefined, { signal }).catch(() => undefined);
    const least = pause(leastPause, undefined, { signal }).catch(() => undefined);
    await Promise.race([rest, Promise.all([least, turns.oneEnds()])]);
  }
  await turns.allEnd();
  if (failures.length > 0) throw failures[0];
}

/** Sends what is due now, and what becomes due by it. */
export async function deliverNow(context: Context): Promise<void> {
  const { signal } = new AbortController();
  await spreadEvents(context, signal);
  const turns = new Turns();
  const start = (delivery: DeliveryRow) => deliverOne(context, delivery, signal);
  while ((await startDue(context, turns, start)) > 0) await turns.allEnd();
}

/** Attempts under way. */
class Turns {
  readonly #running = new Map<Promise<unknown>, DeliveryRow>();
  readonly #failing = new Set<string>();

  /** `ended` says whether the attempt failed. */
  add(delivery: DeliveryRow, ended: Promise<boolean>): void {
    const attempt = ended.then((isFailing) => {
      this.#running.delete(attempt);
      if (!isFailing) this.#failing.delete(delivery.rule_id);
      else if (this.#failing.size < failingKnown) this.#failing.add(delivery.rule_id);
    });
    this.#running.set(attempt, delivery);
  }

  /** Of a space. */
  count(owner: string): number {
    return this.#some(({ owner_id }) => owner_id === owner);
  }

  /** How many attempts more a rule may begin. */
  room({ rule_id: rule, owner_id: owner }: { rule_id: string; owner_id: string }): number {
    const isFailing = this.#failing.has(rule);
    const failing = this.#some(({ rule_id }) => this.#failing.has(rule_id));
    const ofRule = this.#some(({ rule_id }) => rule_id === rule);
    return Math.min(
      slots.server - this.#running.size,
      slots.space - this.count(owner),
      (isFailing ? slotsOfFailing : slots).rule - ofRule,
      isFailing ? slotsOfFailing.server - failing : slots.server,
    );
  }

  oneEnds(): Promise<unknown> {
    return this.#running.size > 0
      ? Promise.race(this.#running.keys())
      : new Promise(() => undefined);
  }

  async allEnd(): Promise<void> {
    await Promise.all(this.#running.keys());
  }

  #some(isOne: (delivery: DeliveryRow) => boolean): number {
    return [...this.#running.values()].filter(isOne).length;
  }
}

/** Takes deliveries for the free slots, first of spaces with few attempts under way. Returns how many. */
async function startDue(
  context: Context,
  turns: Turns,
  start: (delivery: DeliveryRow) => Promise<boolean>,
): Promise<number> {
  const { store, now } = context;
  let started = 0;
  const rules = (await store.read.all(findDueRules, { now: now() })).toSorted(
    (a, b) => turns.count(a.owner_id) - turns.count(b.owner_id) || a.next_at - b.next_at,
  );
  for (const of of rules) {
    const limit = turns.room(of);
    if (limit <= 0) continue;
    for (const due of await store.read.all(findDue, { rule: of.rule_id, now: now(), limit })) {
      const at = now();
      const next = { id: due.id, next_at: due.next_at ?? 0, until: at + lease, now: at };
      const taken = await store.share((tx) => tx.first(takeDelivery, next), { row: due.id });
      if (!taken) continue;
      turns.add(taken, start(taken));
      started += 1;
    }
  }
  return started;
}

/** Returns whether it failed. */
async function deliverOne(
  context: Context,
  delivery: DeliveryRow,
  signal: AbortSignal,
): Promise<boolean> {
  const { read } = context.store;
  const rule = await read.first(findAnyRule, { id: delivery.rule_id });
  const event = await read.first(findEvent, { id: delivery.event_id });
  // Deleted meanwhile, and the delivery with it.
  if (!rule || !event) return false;
  let outcome: Outcome;
  try {
    outcome = await send(context, rule, await eventOf(context, read, event), signal);
  } catch (error) {
    await end(context, rule, delivery, unsent);
    throw error;
  }
  // This server stops: the next one sends it at once, because nothing is known of the attempt.
  if (signal.aborted && outcome.error !== null && outcome.response_status === null)
    await context.store.share((tx) => endAttempt(tx, delivery, { next_at: context.now() }), {
      row: delivery.id,
    });
  else await end(context, rule, delivery, outcome);
  return outcome.error !== null;
}

const unsent: Outcome = {
  error: "it could not be sent, for a reason that the log of the server names",
  response_status: null,
  duration_ms: 0,
};

async function end(
  context: Context,
  rule: RuleRow,
  delivery: DeliveryRow,
  outcome: Outcome,
): Promise<void> {
  const { store } = context;
  if (outcome.response_status === 410) return disableGone(context, rule, delivery, outcome);
  const now = context.now();
  const after = afterAttempt(delivery, outcome, now);
  const isGivenUp = after.status === "given_up";
  await store.share(
    async (tx) => {
      const locked = await tx.first(lockRule, { id: rule.id });
      if (!locked || !(await endAttempt(tx, delivery, after))) return;
      await noteError(tx, locked, isGivenUp ? outcome.error : null, after.status, now);
      if (delivery.about !== null)
        await tx.run(advance, { rule: rule.id, about: delivery.about, now });
    },
    { row: rule.id },
  );
  context.wakeups.notify("delivery", after.status === "retrying" ? "failed" : after.status);
  if (isGivenUp && rule.error === null) await tellAdmins(context, rule, outcome.error ?? "");
}

/** What an attempt makes of a delivery. */
export function afterAttempt(
  { attempt, first_failed_at }: Pick<DeliveryRow, "attempt" | "first_failed_at">,
  { error, response_status, duration_ms, retryAfter = 0, isFinal = false }: Outcome,
  now: number,
): Pick<DeliveryRow, "status" | "next_at"> & Partial<DeliveryRow> {
  const known = { error, response_status, duration_ms };
  if (error === null) return { ...known, status: "delivered", next_at: null };
  const since = first_failed_at ?? now;
  const failed = { ...known, first_failed_at: since };
  if (isFinal || now - since >= retriedMilliseconds)
    return { ...failed, status: "given_up", next_at: null };
  const wait = Math.max(waitAfter(attempt), retryAfter);
  return { ...failed, status: "retrying", next_at: now + wait };
}

/** A rule shows why a delivery was given up, until one succeeds. */
export async function noteError(
  tx: Queries,
  rule: RuleRow,
  error: string | null,
  status: DeliveryRow["status"],
  now: number,
): Promise<void> {
  if (status === "delivered" && rule.error !== null)
    await updateRule(tx, rule.id, { error: null, error_since: null });
  if (status === "given_up" && rule.error === null)
    await updateRule(tx, rule.id, { error, error_since: now });
}

/** The receiver wants nothing ever again. */
async function disableGone(
  context: Context,
  rule: RuleRow,
  delivery: DeliveryRow,
  { duration_ms }: Outcome,
): Promise<void> {
  const error = "HTTP 410: the receiver wants no more events, so the rule was disabled";
  const isDisabled = await context.store.write(async (tx) => {
    const now = context.now();
    const known = { error, response_status: 410, duration_ms };
    if (!(await endAttempt(tx, delivery, { ...known, status: "given_up", next_at: null })))
      return false;
    await tx.run(giveUpRule, { rule: rule.id, error });
    await updateRule(tx, rule.id, { enabled: 0, error, error_since: now, updated_at: now });
    const what = { action: "notification.update", id: rule.id, name: rule.name } as const;
    const details = { fields: ["enabled"], response_status: 410 };
    await record(tx, { by: system, owner: rule.owner_id, ...what, details }, now);
    return true;
  });
  context.wakeups.notify("delivery", "given_up");
  if (isDisabled) await tellAdmins(context, rule, error);
}
