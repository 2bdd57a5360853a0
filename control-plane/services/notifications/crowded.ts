/** Gives up the oldest of what waits for a rule whose receiver takes less than happens. */
import { advance, findCrowdedRules, giveUpOldest } from "../../store/notifications/deliveries.ts";
import { lockRule } from "../../store/notifications/rules.ts";
import type { Context } from "../context.ts";
import { noteError } from "./deliver.ts";
import { tellAdmins } from "./given-up.ts";

/** Deliveries that may wait for one rule. */
export const waitingDeliveriesLimit = 5000;
/** In one transaction. */
const givenUpAtOnce = 200;

export async function giveUpCrowded(
  context: Context,
  signal: AbortSignal,
  limit = waitingDeliveriesLimit,
): Promise<void> {
  const { store, now, wakeups } = context;
  const error = `more than ${limit} deliveries waited for the receiver, so the oldest were given up`;
  for (const { rule: id, last } of await store.read.all(findCrowdedRules, { limit })) {
    for (let more = true; more && !signal.aborted;) {
      const { told, count } = await store.write(async (tx) => {
        const rule = await tx.first(lockRule, { id });
        more = false;
        if (!rule) return { told: undefined, count: 0 };
        const gone = await tx.all(giveUpOldest, { rule: id, last, limit: givenUpAtOnce, error });
        more = gone.length === givenUpAtOnce;
        const at = now();
        // What was to follow those that are gone goes ahead.
        for (const about of new Set(gone.map((one) => one.about)))
          if (about !== null) await tx.run(advance, { rule: id, about, now: at });
        if (gone.length > 0) await noteError(tx, rule, error, "given_up", at);
        return {
          told: rule.error === null && gone.length > 0 ? rule : undefined,
          count: gone.length,
        };
      });
      for (let n = 0; n < count; n += 1) wakeups.notify("delivery", "given_up");
      if (told) await tellAdmins(context, told, error);
    }
  }
}
