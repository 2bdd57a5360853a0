/** SQL of events. `services/events/record.ts` adds them, in the transaction of the change. */
import { sql } from "kysely";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type EventRow = Row<"events">;

type NewEvent = Omit<EventRow, "id" | "sequence" | "zone_name" | "spec_name">;

/** How a rule may select an event: by its name, or by one of the prefixes of it. */
export type Selections = { selection: string; prefix: string; longer_prefix: string };

/**
 * Adds an event if a rule of its space may want it. Hot, because every job has some: a space without
 * rules costs one look into an index. Without a zone, that of the configuration counts.
 */
export const insertEvent = statement<NewEvent & Selections>((db, row) => {
  const zone = sql`coalesce(${row.zone_id}, (select zone_id from specs where specs.id = ${row.spec_id}))`;
  const query = sql`insert into events (event_id, owner_id, type, zone_id, zone_name, spec_id, spec_name,
      job_id, job, actor, about, data, rule_id, once, created_at)
    select ${row.event_id}, ${row.owner_id}, ${row.type}, ${zone},
      (select name from zones where zones.id = ${zone}), ${row.spec_id},
      (select name from specs where specs.id = ${row.spec_id}), ${row.job_id}, ${row.job}, ${row.actor}, ${row.about},
      ${row.data}, ${row.rule_id}, ${row.once}, cast(${row.created_at} as bigint)
    where exists (
      select 1 from notification_rules as rule indexed by notification_rules_owner
      where rule.owner_id = ${row.owner_id} and (rule.enabled = 1 or cast(${row.type} as text) = 'ping') and ${wants(row)}
        and (case when cast(${row.rule_id} as text) is null
          then (rule.spec_id is null or rule.spec_id = ${row.spec_id})
            and (rule.zone_id is null or rule.zone_id = ${zone})
          else rule.id = ${row.rule_id} end))
    on conflict do nothing`;
  return { compile: () => query.compile(db) };
});

/** Whether the list of a rule, as JSON, has one of the selections, which are quoted. */
const wants = ({ selection, prefix, longer_prefix }: Selections) =>
  sql`(instr(rule.events, ${selection}) > 0 or instr(rule.events, ${prefix}) > 0
    or instr(rule.events, ${longer_prefix}) > 0)`;
