/** The tables of people and pipelines: sign-ins, cloud identities, releases. The same conventions as in tables.ts. */
import type { AuditAction, AuditActorKind } from "../../protocol/audit.ts";
import type { ProviderName } from "../domain/providers.ts";

/** Epoch milliseconds. */
type Millis = number;

/** A person's account at a sign-in provider: (provider, host, subject) is the identity, its e-mail is not. */
export interface AccountsTable {
  provider: ProviderName;
  /** Where the provider is, such as `github.com`; empty from an older version until the server starts. */
  host: string;
  subject: string;
  user_id: string;
  email: string;
  /** Sealed, in base64url. */
  access_token: string;
  refresh_token: string | null;
  /** When the access token ends; null: it does not, or the provider does not say. */
  token_expires_at: Millis | null;
  created_at: Millis;
  signed_in_at: Millis;
}

/** A one-time sign-in link; the token itself is never stored. */
export interface LoginLinksTable {
  token_hash: string;
  email: string;
  created_at: Millis;
  expires_at: Millis;
  used_at: Millis | null;
}

/** A sign-in: a browser session, or the family of token pairs of one CLI login. Its id is the `sid` of the tokens. */
export interface LoginsTable {
  id: string;
  user_id: string;
  kind: "session" | "cli";
  created_at: Millis;
  expires_at: Millis;
  revoked_at: Millis | null;
  /** CLI: the `jti` of the one refresh token that works, and of the one before it (for the 10 s race). */
  refresh_jti: string | null;
  previous_refresh_jti: string | null;
  rotated_at: Millis | null;
}

/** A device login that a browser approved (the interface's cli_logins). Its code is derived (services/people/device-login.ts). */
export interface CliLoginsTable {
  device_code: string;
  profile_id: string;
  wrong_guesses: number;
  created_at: Millis;
  expires_at: Millis;
  used_at: Millis | null;
}

/** The role that jobs take on in a cloud account. `external_id` is made once and never changed. */
export interface CloudIdentitiesTable {
  id: string;
  owner_id: string;
  name: string;
  provider: "aws";
  role_arn: string;
  external_id: string;
  created_at: Millis;
  updated_at: Millis;
}

/** Published runner versions. The highest is also the fact `latest_version`. */
export interface ReleasesTable {
  version: string;
  release_notes: string;
  created_at: Millis;
}

/** Who did what to what. Only added to; refers to no other table, because an entry outlives what it names. */
export interface AuditEntriesTable {
  id: string;
  /** Who may read it; null where it concerns no single user. */
  owner_id: string | null;
  action: AuditAction;
  actor_kind: AuditActorKind;
  actor_id: string | null;
  actor_name: string | null;
  target_id: string | null;
  /** As it was called then. */
  target_name: string | null;
  /** JSON, without secrets and values. */
  details: string;
  ip_address: string | null;
  user_agent: string | null;
  request_id: string | null;
  created_at: Millis;
}

export interface PeopleTables {
  audit_entries: AuditEntriesTable;
  accounts: AccountsTable;
  login_links: LoginLinksTable;
  logins: LoginsTable;
  cli_logins: CliLoginsTable;
  cloud_identities: CloudIdentitiesTable;
  releases: ReleasesTable;
}
