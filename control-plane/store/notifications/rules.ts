/** SQL of notification rules. */
import { statement } from "../statement.ts";

export const deleteRulesOfSpec = statement<{ spec: string }>((db, { spec }) =>
  db.deleteFrom("notification_rules").where("spec_id", "=", spec),
);
