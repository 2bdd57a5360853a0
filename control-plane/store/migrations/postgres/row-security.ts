/**
 * Row security: what the role sees that runs queries for people (docs/postgresql.md, "Row
 * security"). Policies read a setting of the transaction; without it nothing is visible. They must
 * let statements keep their indexes: what looks up an index must be leakproof, and what is the same
 * for all rows is a subquery, which runs once.
 */

/** The setting: ids of spaces with commas between them. */
export const spacesSetting = "windlass.spaces";

/** Those of which only some zones are seen, these zones, and the only configurations in them; "": all. */
export const limitedSetting = "windlass.limited";
export const zonesSetting = "windlass.zones";
export const configurationsSetting = "windlass.configurations";

const idsOf = (setting: string): string =>
  `(select string_to_array(current_setting('${setting}', true), ','))::text[]`;

const spaces = idsOf(spacesSetting);

/** For tables whose rows name their space, or their user, whose id is that of the personal space. */
const inSpace = (owner: string): string => `${owner} = any (${spaces})`;

/**
 * That of a space which is not limited all is seen, and of another one what the condition says. By
 * the form "is not null" PostgreSQL expects nearly all rows to pass; by another one it would expect
 * fewer, and without statistics read whole indexes.
 */
const unlessLimited = (owner: string, condition: string): string =>
  `(case when coalesce(not ${owner} = any (${idsOf(limitedSetting)}), true) or (${condition}) then true end) is not null`;

/** For tables with rows in zones. `spec`: the column with the configuration; null: the zone itself. */
const inZones = (owner: string, zone: string, spec: string | null): string => {
  const seen = `${zone} = any (${idsOf(zonesSetting)})`;
  const alone = `coalesce((select current_setting('${configurationsSetting}', true)), '') = ''`;
  const ofSpec =
    spec === null ? "" : ` and (${alone} or ${spec} = any (${idsOf(configurationsSetting)}))`;
  return `${inSpace(owner)} and ${unlessLimited(owner, `${seen}${ofSpec}`)}`;
};

/** For tables whose rows belong to a row of another table: they are visible if that one is. */
const withParent = (table: string, parent: string, key: string): string =>
  `(select true from ${parent} where ${parent}.id = ${table}.${key})`;

/** Lets the role of a server see all rows. Both are quoted where needed; so is the policy's name. */
export const showAll = (table: string, server: string): string =>
  `create policy ${server} on ${table} to ${server} using (true)`;

/** What each table's rows depend on. */
const policies: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      "access_tokens",
      "archives",
      "audit_entries",
      "cloud_identities",
      "connections",
      "deliveries",
      "events",
      "notification_rules",
      "owner_usage",
      "pull_requests",
      "queue_heads",
      "registration_tokens",
      "schedule_runs",
      "variable_sets",
      "workers",
    ].map((table) => [table, inSpace("owner_id")]),
  ),
  // A deleted one belongs to the user without an id.
  specs: inZones("coalesce(deleted_owner_id, owner_id)", "zone_id", "id"),
  // Of a limited space with their configurations, which may have been in another zone before.
  jobs: `${inSpace("owner_id")} and ${unlessLimited(
    "owner_id",
    "job_type <> 'DESTROY_WORKER' and spec_id in (select specs.id from specs)",
  )}`,
  zones: inZones("owner_id", "id", null),
  schedules: `${inSpace("owner_id")} and ${unlessLimited(
    "owner_id",
    `(spec_id is null or ${withParent("schedules", "specs", "spec_id")})
      and (zone_id is null or ${withParent("schedules", "zones", "zone_id")})`,
  )}`,
  ...Object.fromEntries(
    [
      "debug_logs",
      "job_approvals",
      "job_changes",
      "job_snapshots",
      "log_archives",
      "log_chunks",
      "log_removals",
      "log_volumes",
      "plan_artifacts",
      "plan_attributes",
      "plan_summaries",
    ].map((table) => [table, withParent(table, "jobs", "job_id")]),
  ),
  ...Object.fromEntries(
    ["components", "follows", "state_locks", "state_versions"].map((table) => [
      table,
      withParent(table, "specs", "spec_id"),
    ]),
  ),
  definitions: `exists (select from specs where specs.id = definitions.about)
      or exists (select from variable_sets where variable_sets.id = definitions.about)
      or exists (select from jobs where jobs.id = definitions.about)`,
  loose_definitions: `false`,
  connection_events: withParent("connection_events", "connections", "connection_id"),
  variable_set_attachments: withParent("variable_set_attachments", "variable_sets", "set_id"),
  accounts: inSpace("user_id"),
  cli_logins: inSpace("profile_id"),
  provider_sessions: inSpace("user_id"),
  logins: inSpace("user_id"),
  // Signing in is the system's work.
  login_links: `false`,
  spaces: inSpace("id"),
  teams: inSpace("id"),
  memberships: `${inSpace("space_id")} or ${inSpace("user_id")}`,
  team_groups: inSpace("space_id"),
  invitations: inSpace("space_id"),
  // Names are shown of the members of a team, and of those who created what is in it.
  users: `${inSpace("id")} or exists (select from memberships where memberships.user_id = users.id)
    or exists (select from access_tokens where access_tokens.created_by = users.id)
    or exists (select from invitations where invitations.created_by = users.id)`,
};

export const rowSecurity: readonly string[] = [
  ...Object.entries(policies).flatMap(([table, condition]) => [
    `alter table ${table} enable row level security`,
    `create policy spaces on ${table} using (${condition})`,
  ]),
  // Everyone sees cloud-hosted workers.
  `create policy cloud_hosted on workers for select using (owner_id is null)`,
  // What a deleted configuration refers to, until its history is removed.
  `create policy deleted on users for insert with check (id = '')`,
  `create policy deleted on zones for insert with check (owner_id = '')`,
];
