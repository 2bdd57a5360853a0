import { sql } from "kysely";
import { aheadCounted, type Ahead } from "../../domain/waiting-reason.ts";
import { statement } from "../statement.ts";
import { classes, freeHeads } from "./claims.ts";

/**
 * How many jobs of an owner, of the classes before this one, a worker with these labels and features
 * could claim now. Finds them like a claim (claims.ts), and counts no further than it has to.
 */
export const countAhead = statement<
  { owner: string; labels: string; features: string; queue_class: number },
  Ahead
>((db, { owner, labels, features, queue_class }) => {
  const heads = sql`${freeHeads(db, owner)} and h.only_worker = ''`;
  const query = sql`
    with recursive
      has(value) as (
        select value from json_each(${labels}) union all select '+' || value from json_each(${features})),
      kinds(first_wanted, wanted) as (
        select begins.value, (select min(h.wanted) from ${heads} and h.first_wanted = begins.value)
          from (select '' as value union all select value from has) as begins
        union all
        select kinds.first_wanted, (
            select min(h.wanted) from ${heads} and h.first_wanted = kinds.first_wanted and h.wanted > kinds.wanted)
          from kinds where kinds.wanted is not null)
    select classes.value as queue_class, cast(sum((
        select count(*) from (
          select 1 from ${heads} and h.first_wanted = kinds.first_wanted and h.wanted = kinds.wanted
            and h.queue_class = classes.value order by h.job_id limit ${sql.lit(aheadCounted)}) as counted)) as integer) as count
      from kinds cross join ${classes}
      where classes.value < cast(${queue_class} as integer) and kinds.wanted is not null
        and not exists (select 1 from json_each(kinds.wanted) as wanted where wanted.value not in (select value from has))
      group by classes.value`;
  return { compile: () => query.compile(db) };
});
