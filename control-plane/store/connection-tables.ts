/** The tables of connections to code hosts, as types (tables.ts). */
import type { ColumnType } from "kysely";
import type { ConnectionKind } from "../../protocol/connections.ts";

/** Epoch milliseconds. */
type Millis = number;
type Json = string;

export interface ConnectionsTable {
  id: string;
  owner_id: string;
  name: string;
  kind: ConnectionKind;
  base_url: string;
  api_url: string;
  /** Whose credential it is, as the host said at the last check. */
  account: string | null;
  status_name: string;
  poll_seconds: number;
  /** Its credentials and webhook secrets: a sealed definition whose environment they are. */
  secrets: Json;
  last_event_at: Millis | null;
  last_poll_at: Millis | null;
  /** When the next of its repositories is due, or its jobs are to be looked at. */
  poll_at: Millis;
  /** Until then a server looks. */
  busy_until: Millis;
  /** Until then the host is asked nothing: it wants no calls, or does not answer. */
  quiet_until: Millis;
  error: string | null;
  error_since: Millis | null;
  created_at: Millis;
  updated_at: Millis;
}

/** Events that have arrived, so that a repeated one is known. */
export interface ConnectionEventsTable {
  connection_id: string;
  delivery_id: string;
  received_at: Millis;
  /** `CommentCommand`, until it is carried out. */
  command: Json | null;
  /** The commit that was pushed, and the account at the host that did. */
  commit_id: string | null;
  account_id: string | null;
}

/** The branch that a configuration follows. */
export interface FollowsTable {
  spec_id: string;
  connection_id: string;
  /** Stays when the repository is renamed. */
  repository_id: string;
  /** Its full name, as the host said last. */
  repository: string;
  branch: string;
  /** The other fields of `WriteFollow`, with their defaults. */
  settings: Json;
  /** The newest commit of the branch for which everything was queued. */
  seen_commit: string | null;
  /** When its repository is looked at next. */
  look_at: Millis;
  updated_at: Millis;
}

export interface PullRequestsTable {
  id: string;
  owner_id: string;
  connection_id: string;
  repository_id: string;
  repository: string;
  number: number;
  title: string;
  /** The account at the host. */
  author_id: string;
  author: string;
  /** The account that pushed the head, if an event has said so. */
  pusher_id: string | null;
  url: string;
  state: "open" | "merged" | "closed";
  head_branch: string;
  head_commit: string;
  base_branch: string;
  /** The tip of the base when the host was asked last. */
  base_commit: string | null;
  is_fork: 0 | 1;
  is_draft: 0 | 1;
  merged_commit: string | null;
  /** The commit of a fork that a person lets be planned. */
  approved_commit: string | null;
  /** The head for which everything was queued. */
  planned_commit: string | null;
  /** Why the head starts nothing. */
  skipped: string | null;
  comment_id: string | null;
  /** The SHA-256 of the comment, and of the aggregate status with its commit, that the host has. */
  posted_comment: string | null;
  posted_status: string | null;
  post_error: string | null;
  /** When the host is to be told something; null: nothing. */
  post_at: Millis | null;
  created_at: Millis;
  updated_at: Millis;
}

/** What a job of a connection runs, and what the host knows of it. */
export interface JobChangesTable {
  job_id: string;
  connection_id: string | null;
  /** Of a PLAN for a pull request. */
  pull_request_id: string | null;
  /** Of a push: the pull request whose merge made the commit. */
  merged_request_id: string | null;
  spec_id: string | null;
  commit_id: string;
  /** `Change` of the protocol. */
  change: Json;
  /** Names of withheld values. */
  withheld: Json;
  /** Of everything but the source, with all values: equal for equal settings. */
  settings_hash: string;
  /** Of a DEPLOY: the PLAN of the pull request whose approvals count for it. */
  approved_job_id: string | null;
  /** 1 for a DEPLOY of another plan than that of the pull request: it needs an approval without a rule too. */
  needs_approval: ColumnType<0 | 1, 0 | 1 | undefined, 0 | 1>;
  posted_status: string | null;
  post_error: string | null;
  post_at: Millis | null;
}
