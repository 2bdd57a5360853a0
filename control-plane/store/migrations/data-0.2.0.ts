/** What 0.2.0 changes in the rows of 0.1.0, between its tables and its indexes (release-0.2.0.ts). */

const hasState = (spec: string): string =>
  `exists (select 1 from state_versions where state_versions.spec_id = ${spec})`;
const isManaged = (json: string): string => `json_extract(${json}, '$.backend') = 'managed'`;
const auditEntry = (target: string, ...actions: readonly string[]): string =>
  `from audit_entries indexed by audit_entries_target
    where audit_entries.owner_id = jobs.owner_id and target_id = ${target} and action in ('${actions.join("', '")}')`;

export const data = [
  `insert into spaces (id) select id from users`,
  // A registration could set it, unchecked, and so decide what a DESTROY_WORKER destroys: a person
  // sets it again.
  `update workers set metadata = json_set(json_remove(metadata, '$.deploy_configuration'),
      '$.unchecked_deploy_configuration', json_extract(metadata, '$.deploy_configuration'))
    where owner_id is not null and json_type(metadata, '$.deploy_configuration') is not null`,
  // 0.1.0 chose `managed` for every configuration. One without a managed state now uses the backend
  // that its files declare.
  `update specs set definition = json_remove(definition, '$.backend')
    where ${isManaged("definition")} and not ${hasState("specs.id")}`,
  `update job_snapshots set config_snapshot = json_remove(config_snapshot, '$.backend')
    where job_id in (select id from jobs where status = 'QUEUED' and not ${hasState("jobs.spec_id")})
      and ${isManaged("config_snapshot")}`,
  `drop index audit_entries_owner`,
  // By time and not by id, so that a period is a range of the index.
  `create index audit_entries_owner on audit_entries (owner_id, created_at, id)`,
  `create index audit_entries_action on audit_entries (owner_id, action, created_at, id)`,
  `create index audit_entries_target on audit_entries (owner_id, target_id, created_at, id)`,
  // One pass over all jobs. So far only people own them, and messages said what are fields now. A
  // cancelled job that was released and still has its lock lost its runner, or its runner could not
  // say what it did. Hashes of sensitive values in clear, from which a short secret can be found, are
  // removed: plans of such configurations are stale.
  `update jobs set
    creator_id = owner_id,
    created_by = (select actor_name ${auditEntry("jobs.id", "job.create", "job.retry")}),
    cancelled_by = case when cancelled_at is not null then (
      select actor_name ${auditEntry("jobs.id", "job.cancel")}) end,
    presumed_lost_at = case when status = 'FAILED' and error_message = 'runner lost, outcome unknown' then ended_at end,
    outcome_unknown = case status
      when 'FAILED' then coalesce(error_message = 'runner lost, outcome unknown'
        or error_message like 'outcome unknown: the server was restored from a backup of %', 0)
      when 'CANCELLED' then released_at is not null and id in (select job_id from state_locks)
      else 0 end,
    config_hash = case when config_hash is not null and not exists (
      select 1 from job_snapshots where job_id = jobs.id and config_snapshot like '%"sealed":%') then config_hash end`,
  // The cloud identity of plans that can still be deployed, where it has not changed since the claim.
  `update jobs set identity_used = (
      select json_object('provider', provider, 'role_arn', role_arn, 'external_id', external_id)
      from cloud_identities where id = jobs.cloud_identity_id and updated_at <= jobs.claimed_at)
    where id in (select job_id from plan_artifacts) and cloud_identity_id is not null`,
  // The last apply or destruction, if it failed; else the last failure, of a configuration that is
  // FAILED.
  `update specs set failed_job_id = coalesce(
      (select case when jobs.status = 'FAILED' then jobs.id end from jobs
        where spec_id = specs.id and started_at is not null and job_type <> 'PLAN' order by claimed_at desc limit 1),
      (select jobs.id from jobs where spec_id = specs.id and specs.status = 'FAILED' and jobs.status in ('FAILED', 'CANCELLED')
        order by jobs.id desc limit 1))`,
  // 0.1.0 counted the instances of a resource as one, and none in a state that is encrypted. The server
  // counts them again while it runs (services/states/recount.ts); until then, none are unknown.
  `update state_versions set resource_count = resources where resources > 0`,
  `insert into facts (name, value)
    select 'states_to_recount', '' where exists (select 1 from state_versions)`,
  // An entry has the time of the version that it is about.
  `update state_versions set (stored_by, copy_of) = (
      select actor_name, json_extract(details, '$.from_serial') from audit_entries join specs on specs.id = target_id
      where audit_entries.owner_id = specs.owner_id and target_id = state_versions.spec_id
        and action = 'state.roll_back' and audit_entries.created_at = state_versions.created_at
        and json_extract(details, '$.serial') = state_versions.serial)
    where job_id is null`,
  `insert into owner_usage (owner_id, archive_bytes, state_bytes)
    select users.id,
      coalesce((select sum(size_bytes) from archives where archives.owner_id = users.id), 0),
      coalesce((select sum(size_bytes) from state_versions join specs on specs.id = state_versions.spec_id
        where specs.owner_id = users.id), 0)
    from users`,
];
