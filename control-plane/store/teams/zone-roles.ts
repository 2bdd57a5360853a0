/** Roles in zones, which members, invitations and access tokens have as JSON. */
import { sql, type RawBuilder } from "kysely";
import { roles } from "../../../protocol/roles.ts";
import type { Queries } from "../db.ts";

/** Where roles in zones are stored. */
const columns = [
  { table: "memberships", owner: "space_id", names: ["zones", "invited_zones", "group_zones"] },
  { table: "team_groups", owner: "space_id", names: ["zones"] },
  { table: "invitations", owner: "space_id", names: ["zones"] },
  { table: "access_tokens", owner: "owner_id", names: ["zones"] },
] as const;

/** Ends all roles in a zone that leaves a space or is deleted. */
export async function endZoneRoles(
  { sql: db }: Queries,
  space: string,
  zone: string,
): Promise<void> {
  for (const { table, owner, names } of columns)
    for (const name of names)
      await sql`update ${sql.table(table)} set ${sql.ref(name)} = ${without(sql.ref(name), zone)}
        where ${sql.ref(owner)} = ${space} and instr(${sql.ref(name)}, ${`"${zone}"`}) > 0`.execute(
        db,
      );
}

/** The text without the role in a zone, which is there once. */
const without = (text: RawBuilder<unknown>, zone: string): RawBuilder<unknown> =>
  roles
    .map((role) => `"${zone}":"${role}"`)
    .flatMap((member) => [`${member},`, `,${member}`, member])
    .reduce((inner, part) => sql`replace(${inner}, ${part}, '')`, text);

/** A cloud identity, or a connection to a code host. */
export type SpaceThing = { readonly identity: string } | { readonly connection: string };

interface Place {
  readonly zone: string;
  /** Another configuration than this one. */
  readonly by: string;
  /** One of these; undefined: any. */
  readonly configurations: readonly string[] | undefined;
}

/** Whether a configuration in a zone uses it. */
export async function isUsedIn(
  { sql: db }: Queries,
  thing: SpaceThing,
  { zone, by, configurations }: Place,
): Promise<boolean> {
  const used =
    "identity" in thing
      ? sql`specs indexed by specs_cloud_identity where specs.cloud_identity_id = ${thing.identity}`
      : sql`follows indexed by follows_connection cross join specs
          where follows.connection_id = ${thing.connection} and specs.id = follows.spec_id`;
  const among =
    configurations === undefined
      ? sql``
      : sql`and specs.id in (select value from json_each(${JSON.stringify(configurations)}))`;
  const { rows } =
    await sql`select 1 from ${used} and specs.zone_id = ${zone} and specs.id <> ${by} ${among} limit 1`.execute(
      db,
    );
  return rows.length > 0;
}
