/** SQL of notification rules. */
import type { Queries } from "../db.ts";
import { forUpdate } from "../dialect.ts";
import { notificationRulesBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { Row } from "../tables.ts";

export type RuleRow = Row<"notification_rules">;

export const findRule = statement<{ id: string; owner: string }, RuleRow>((db, { id, owner }) =>
  db
    .selectFrom("notification_rules")
    .selectAll()
    .where("id", "=", id)
    .where("owner_id", "=", owner),
);

/** For deliveries, which belong to no caller. */
export const findAnyRule = statement<{ id: string }, RuleRow>((db, { id }) =>
  db.selectFrom("notification_rules").selectAll().where("id", "=", id),
);

/** Orders the ends of the deliveries of a rule, each of which decides by the others. */
export const lockRule = statement<{ id: string }, RuleRow>((db, { id }) =>
  forUpdate(db, db.selectFrom("notification_rules").selectAll().where("id", "=", id)),
);

export const findRuleByName = statement<{ name: string; owner: string }, { id: string }>(
  (db, { name, owner }) =>
    db
      .selectFrom(notificationRulesBy("notification_rules_name"))
      .select("id")
      .where("owner_id", "=", owner)
      .where("name", "=", name),
);

/** Those whose deliveries fail, or that the server has disabled, the longest first. */
export const findFailingRules = statement<
  { owner: string; limit: number },
  Pick<RuleRow, "id" | "name" | "enabled" | "error" | "error_since" | "updated_at">
>((db, { owner, limit }) =>
  db
    .selectFrom(notificationRulesBy("notification_rules_owner"))
    .select(["id", "name", "enabled", "error", "error_since", "updated_at"])
    .where("owner_id", "=", owner)
    .where("error", "is not", null)
    .orderBy("error_since")
    .limit(limit),
);

export function listRules(
  { sql: db }: Queries,
  owner: string,
  before: string | undefined,
  limit: number,
): Promise<RuleRow[]> {
  let query = db
    .selectFrom(notificationRulesBy("notification_rules_owner"))
    .selectAll()
    .where("owner_id", "=", owner);
  if (before !== undefined) query = query.where("id", "<", before);
  return query.orderBy("id", "desc").limit(limit).execute();
}

export async function insertRule(tx: Queries, row: RuleRow): Promise<void> {
  await tx.sql.insertInto("notification_rules").values(row).execute();
}

export async function updateRule(tx: Queries, id: string, change: Partial<RuleRow>): Promise<void> {
  await tx.sql.updateTable("notification_rules").set(change).where("id", "=", id).execute();
}

export const deleteRule = statement<{ id: string }>((db, { id }) =>
  db.deleteFrom("notification_rules").where("id", "=", id),
);

export const deleteRulesOfSpec = statement<{ spec: string }>((db, { spec }) =>
  db.deleteFrom("notification_rules").where("spec_id", "=", spec),
);
