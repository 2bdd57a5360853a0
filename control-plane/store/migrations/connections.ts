/** The tables of connections to code hosts, alike on both engines. `text`: the engine's type. */
export const tables = (text: string): string[] => [
  `create table connections (
    id ${text} primary key, owner_id ${text} not null references spaces(id), name ${text} not null,
    kind ${text} not null, base_url ${text} not null, api_url ${text} not null, account ${text},
    status_name ${text} not null, poll_seconds integer not null, secrets ${text} not null, last_event_at bigint,
    last_poll_at bigint, poll_at bigint not null, busy_until bigint not null, quiet_until bigint not null,
    error ${text}, error_since bigint, created_at bigint not null,
    updated_at bigint not null)`,
  `create table connection_events (
    connection_id ${text} not null references connections(id) on delete cascade, delivery_id ${text} not null,
    received_at bigint not null, command ${text}, commit_id ${text}, account_id ${text},
    primary key (connection_id, delivery_id))`,
  `create table follows (
    spec_id ${text} primary key references specs(id) on delete cascade,
    connection_id ${text} not null references connections(id) on delete cascade, repository_id ${text} not null,
    repository ${text} not null, branch ${text} not null, settings ${text} not null, seen_commit ${text},
    look_at bigint not null, updated_at bigint not null)`,
  `create table pull_requests (
    id ${text} primary key, owner_id ${text} not null references spaces(id),
    connection_id ${text} not null references connections(id) on delete cascade, repository_id ${text} not null,
    repository ${text} not null, number integer not null, title ${text} not null, author_id ${text} not null,
    author ${text} not null, pusher_id ${text}, url ${text} not null, state ${text} not null, head_branch ${text} not null,
    head_commit ${text} not null, base_branch ${text} not null, base_commit ${text}, is_fork integer not null,
    is_draft integer not null, merged_commit ${text}, approved_commit ${text}, planned_commit ${text}, skipped ${text},
    comment_id ${text}, posted_comment ${text}, posted_status ${text}, post_error ${text}, post_at bigint,
    created_at bigint not null, updated_at bigint not null)`,
  `create table job_changes (
    job_id ${text} primary key references jobs(id) on delete cascade,
    connection_id ${text} references connections(id) on delete set null, pull_request_id ${text} references pull_requests(id)
    on delete set null, merged_request_id ${text} references pull_requests(id) on delete set null, spec_id ${text},
    commit_id ${text} not null, change ${text} not null, withheld ${text} not null, settings_hash ${text} not null,
    approved_job_id ${text}, needs_approval integer not null default 0, posted_status ${text}, post_error ${text}, post_at bigint)`,
];

export const indexes = [
  `create unique index connections_name on connections (owner_id, name)`,
  `create index connections_owner on connections (owner_id, id)`,
  `create index connections_poll on connections (poll_at)`,
  `create index connection_events_received on connection_events (received_at)`,
  `create index follows_connection on follows (connection_id, repository_id)`,
  `create index connection_events_command on connection_events (connection_id) where command is not null`,
  `create unique index pull_requests_number on pull_requests (connection_id, repository_id, number)`,
  `create index pull_requests_open on pull_requests (connection_id, repository_id) where state = 'open'`,
  `create index pull_requests_owner on pull_requests (owner_id, id)`,
  `create index pull_requests_post on pull_requests (post_at) where post_at is not null`,
  `create index job_changes_pull_request on job_changes (pull_request_id, commit_id)`,
  `create index job_changes_merged on job_changes (merged_request_id) where merged_request_id is not null`,
  `create index job_changes_spec on job_changes (spec_id, job_id)`,
  `create index job_changes_post on job_changes (post_at) where post_at is not null`,
];
