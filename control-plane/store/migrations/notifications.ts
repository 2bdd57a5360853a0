/** The tables of events and notifications, alike on both engines. `text`, `serial`: the engine's types. */
export const tables = (text: string, serial: string): string[] => [
  `create table notification_rules (
    id ${text} primary key, owner_id ${text} not null references spaces(id), name ${text} not null,
    kind ${text} not null, events ${text} not null, zone_id ${text} references zones(id) on delete cascade,
    spec_id ${text} references specs(id) on delete cascade, stalled_minutes integer not null, enabled integer not null,
    host ${text}, addresses ${text}, secrets ${text} not null, error ${text}, error_since bigint,
    created_at bigint not null, updated_at bigint not null)`,
  `create table events (
    id ${serial}, event_id ${text} not null unique, owner_id ${text} not null references spaces(id), sequence bigint,
    type ${text} not null, zone_id ${text}, zone_name ${text}, spec_id ${text}, spec_name ${text}, job_id ${text},
    job ${text}, actor ${text}, about ${text}, data ${text} not null, rule_id ${text},
    once ${text}, created_at bigint not null)`,
  `create table deliveries (
    id ${text} primary key, owner_id ${text} not null references spaces(id),
    rule_id ${text} not null references notification_rules(id) on delete cascade,
    event_id bigint not null references events(id) on delete cascade, event_name ${text} not null,
    type ${text} not null, about ${text},
    status ${text} not null, attempt integer not null, response_status integer, error ${text}, duration_ms integer,
    sent_at bigint, next_at bigint, first_failed_at bigint)`,
];

export const indexes = [
  `create unique index notification_rules_name on notification_rules (owner_id, name)`,
  `create index notification_rules_owner on notification_rules (owner_id, id)`,
  `create index notification_rules_zone on notification_rules (zone_id) where zone_id is not null`,
  `create index notification_rules_spec on notification_rules (spec_id) where spec_id is not null`,
  `create index events_new on events (id) where sequence is null`,
  `create index events_created on events (created_at)`,
  `create unique index events_once on events (owner_id, once) where once is not null`,
  `create index deliveries_due on deliveries (rule_id, next_at) where next_at is not null`,
  `create index deliveries_open on deliveries (rule_id, about, attempt, event_id) where status = 'retrying'`,
  `create index deliveries_rule on deliveries (rule_id, id)`,
  `create index deliveries_status on deliveries (rule_id, status, id)`,
  `create index deliveries_type on deliveries (rule_id, type, id)`,
  `create index deliveries_sent on deliveries (rule_id, sent_at) where sent_at is not null`,
  `create index deliveries_event on deliveries (event_id)`,
];
