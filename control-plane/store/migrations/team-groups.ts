/** Which groups of sign-in providers a team admits, alike on both engines. `text`: the engine's type. */
export const tables = (text: string): string[] => [
  `create table team_groups (
    space_id ${text} not null references teams(id) on delete cascade, host ${text} not null, name ${text} not null,
    issuer ${text} not null, role ${text}, zones ${text} not null default '{}', created_at bigint not null, primary key (space_id, host, name))`,
];

export const indexes = [
  `create index team_groups_name on team_groups (host, name, created_at)`,
  `create index accounts_groups on accounts (groups_at) where groups_at is not null`,
];
