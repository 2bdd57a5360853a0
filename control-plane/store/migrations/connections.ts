/** The tables of connections to code hosts, alike on both engines. `text`: the engine's type. */
export const tables = (text: string): string[] => [
  `create table connections (
    id ${text} primary key, owner_id ${text} not null references spaces(id), name ${text} not null,
    kind ${text} not null, base_url ${text} not null, api_url ${text} not null, account ${text},
    status_name ${text} not null, poll_seconds integer not null, secrets ${text} not null, last_event_at bigint,
    last_poll_at bigint, poll_at bigint not null, error ${text}, error_since bigint, created_at bigint not null,
    updated_at bigint not null)`,
  `create table connection_events (
    connection_id ${text} not null references connections(id) on delete cascade, delivery_id ${text} not null,
    received_at bigint not null, primary key (connection_id, delivery_id))`,
];

export const indexes = [
  `create unique index connections_name on connections (owner_id, name)`,
  `create index connections_owner on connections (owner_id, id)`,
  `create index connections_poll on connections (poll_at)`,
  `create index connection_events_received on connection_events (received_at)`,
];
