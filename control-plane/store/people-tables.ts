/** The tables of people and teams, and of what they sign in with; see tables.ts. */
import type { ColumnType, Generated } from "kysely";
import type { AccountProvider } from "../domain/providers.ts";
import type { RoleOrNone } from "../domain/roles.ts";

/** Epoch milliseconds. */
type Millis = number;
type Json = string;

/** Null until something sets it. */
type Later<T> = ColumnType<T | null, T | null | undefined, T | null>;

/** `email` is only shown: `link_email` or a row of `accounts` identifies a person. */
interface UsersTable {
  id: string;
  email: string;
  /** Null for users who signed up at a provider. */
  link_email: Later<string>;
  created_at: Millis;
  /** When a provider was last asked whether the person may still use this server. */
  asked_at: Later<Millis>;
  /** Since when no provider has answered that; null: the last one did. */
  unanswered_since: Later<Millis>;
  /** The organisation or group that permitted the person last, as the setting has it. */
  allowed_group: Later<string>;
  blocked_at: Later<Millis>;
}

/**
 * Rows with an owner belong to a space: the personal one of a user, which has the id of the user and
 * is created by a trigger, or that of a team. The space of a deleted team stays, because its history
 * refers to it.
 */
interface SpacesTable {
  id: string;
  /** That of its newest event. */
  event_sequence: Generated<number>;
}

interface TeamsTable {
  id: string;
  slug: string;
  name: string;
  created_at: Millis;
}

/** The members of teams. The user of a personal space is its admin. */
interface MembershipsTable {
  space_id: string;
  user_id: string;
  /** What counts: the higher of the two below. */
  role: RoleOrNone;
  /** Roles in zones by their ids, as JSON; what counts, of the two below. */
  zones: Json;
  joined_at: Millis;
  /** Null: created the team, or was not invited. */
  invited_by: string | null;
  /** What an invitation gave, or the creation of the team; null: a member by groups only. */
  invited_role: RoleOrNone | null;
  invited_zones: Json;
  /** The highest role of the groups below; null: none. */
  group_role: RoleOrNone | null;
  group_zones: Json;
  /** JSON list: the groups of `team_groups` that the member is in. */
  group_names: Json;
}

/** The groups of sign-in providers whose people are members of a team. */
interface TeamGroupsTable {
  space_id: string;
  /** As that of accounts. */
  host: string;
  name: string;
  /** The address of the provider, for people. */
  issuer: string;
  role: RoleOrNone;
  zones: Json;
  created_at: Millis;
}

/** A link with which one person joins a team. Revoking it removes the row. */
interface InvitationsTable {
  id: string;
  space_id: string;
  token_hash: string;
  role: RoleOrNone;
  /** As those of a member. */
  zones: Json;
  /** The only verified address that may use it, in lower case. */
  email: string | null;
  created_by: string;
  created_at: Millis;
  expires_at: Millis;
  used_at: Millis | null;
}

/** A credential of a pipeline. Revoking it removes the row. */
interface AccessTokensTable {
  id: string;
  owner_id: string;
  created_by: string;
  name: string;
  role: RoleOrNone;
  /** As those of a member. */
  zones: Json;
  /** The ids of the only configurations that it is for, as JSON; null: all. */
  configurations: Json | null;
  prefix: string;
  token_hash: string;
  created_at: Millis;
  expires_at: Millis;
  /** Whole minutes. */
  last_used_at: Millis | null;
  last_used_from: string | null;
}

/** A browser session or a family of CLI token pairs. Its id is the tokens' `sid`. */
interface LoginsTable {
  id: string;
  user_id: string;
  kind: "session" | "cli";
  created_at: Millis;
  expires_at: Millis;
  revoked_at: Millis | null;
  /** CLI: the working refresh token and its predecessor (for the 10 s race). */
  refresh_jti: string | null;
  previous_refresh_jti: string | null;
  rotated_at: Millis | null;
  /** The session at an OpenID Connect provider with which it ends. */
  provider_session_id: string | null;
}

/** A session at an OpenID Connect provider, from which logins come. It goes when they end. */
interface ProviderSessionsTable {
  id: string;
  user_id: string;
  /** Host and subject name the account. */
  host: string;
  subject: string;
  /** How the provider names the session; null: it does not. */
  sid: string | null;
  /** Sealed, in base64url: for a logout at the provider, and to ask it anew. */
  id_token: string | null;
  refresh_token: string | null;
  created_at: Millis;
  /** When the provider last said that the session goes on. */
  answered_at: Millis;
  /** When it was last asked. */
  asked_at: Millis;
}

/** A one-time sign-in link; the token itself is never stored. */
interface LoginLinksTable {
  token_hash: string;
  email: string;
  created_at: Millis;
  expires_at: Millis;
  used_at: Millis | null;
}

/** Its code is derived (services/people/device-login.ts). */
interface CliLoginsTable {
  device_code: string;
  profile_id: string;
  wrong_guesses: number;
  created_at: Millis;
  expires_at: Millis;
  used_at: Millis | null;
  /** Of the browser that approved it. */
  provider_session_id: string | null;
}

/** (provider, host, subject) is the identity, the e-mail is not. */
interface AccountsTable {
  provider: AccountProvider;
  /** Such as `github.com`; empty in a store of 0.1.0 until the server starts. */
  host: string;
  subject: string;
  user_id: string;
  email: string;
  /** JSON list, as of the last sign-in; null if that was at a server of 0.1.0. */
  verified: Later<string>;
  /** JSON list: the groups that an OpenID Connect provider has named last. */
  groups: Later<string>;
  /** When it has; null: it named none. */
  groups_at: Later<Millis>;
  /** Sealed, in base64url. */
  access_token: string;
  refresh_token: string | null;
  /** When the access token ends; null: it does not, or the provider does not say. */
  token_expires_at: Millis | null;
  created_at: Millis;
  signed_in_at: Millis;
}

export interface PeopleTables {
  access_tokens: AccessTokensTable;
  accounts: AccountsTable;
  cli_logins: CliLoginsTable;
  invitations: InvitationsTable;
  login_links: LoginLinksTable;
  logins: LoginsTable;
  provider_sessions: ProviderSessionsTable;
  memberships: MembershipsTable;
  spaces: SpacesTable;
  team_groups: TeamGroupsTable;
  teams: TeamsTable;
  users: UsersTable;
}
