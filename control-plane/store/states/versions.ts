/** SQL of what people do with managed state. */
import type { Queries } from "../db.ts";
import { stateVersionsBy } from "../indexed.ts";
import { statement } from "../statement.ts";
import type { StateVersionRow } from "./states.ts";

/** One version of a spec's state. */
export const findStateVersion = statement<{ spec: string; serial: number }, StateVersionRow>(
  (db, { spec, serial }) =>
    db
      .selectFrom(stateVersionsBy("state_versions_serial"))
      .selectAll()
      .where("spec_id", "=", spec)
      .where("serial", "=", serial)
      .orderBy("id", "desc")
      .limit(1),
);

/** A page of a spec's versions, newest first. */
export function listStateVersions(
  { sql: db }: Queries,
  spec: string,
  before: number | undefined,
  limit: number,
): Promise<StateVersionRow[]> {
  let query = db
    .selectFrom(stateVersionsBy("state_versions_serial"))
    .selectAll()
    .where("spec_id", "=", spec);
  if (before !== undefined) query = query.where("serial", "<", before);
  return query.orderBy("serial", "desc").limit(limit).execute();
}
