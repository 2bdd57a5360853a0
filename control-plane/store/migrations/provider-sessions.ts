/** The table of sessions at OpenID Connect providers, alike on both engines. `text`: the engine's type. */
export const tables = (text: string): string[] => [
  `create table provider_sessions (
    id ${text} primary key, user_id ${text} not null references users(id) on delete cascade, host ${text} not null,
    subject ${text} not null, sid ${text}, id_token ${text}, refresh_token ${text}, created_at bigint not null,
    answered_at bigint not null, asked_at bigint not null)`,
];

export const indexes = [
  `create index provider_sessions_subject on provider_sessions (host, subject)`,
  `create index provider_sessions_asked on provider_sessions (asked_at) where refresh_token is not null`,
  `create index provider_sessions_user on provider_sessions (user_id)`,
  `create index logins_provider_session on logins (provider_session_id) where provider_session_id is not null`,
  `create index cli_logins_provider_session on cli_logins (provider_session_id) where provider_session_id is not null`,
];
