/** What Windlass asks of a code host. Each host is one file beside this one. */
import type { IncomingHttpHeaders } from "node:http";

export interface HostRepository {
  /** Stays when the repository is renamed. */
  readonly id: string;
  readonly full_name: string;
  readonly clone_url: string;
  /** Null for a repository without a commit. */
  readonly default_branch: string | null;
  readonly private: boolean;
}

/** What every call about a repository needs: some hosts address it by id, some by name. */
export type RepositoryKey = Pick<HostRepository, "id" | "full_name">;

export interface PullRequest {
  readonly number: number;
  readonly title: string;
  readonly url: string;
  /** The id and the name of the account that opened it. */
  readonly author: { readonly id: string; readonly name: string };
  readonly head: { readonly branch: string; readonly commit: string };
  readonly base: { readonly branch: string; readonly commit: string | null };
  readonly is_fork: boolean;
  readonly is_draft: boolean;
}

export interface ChangedFiles {
  /** Relative to the repository, of renamed files both names. */
  readonly paths: readonly string[];
  /** Whether the host cut the list short. */
  readonly isCut: boolean;
}

export type StatusState = "pending" | "success" | "failure";

export interface Status {
  readonly context: string;
  readonly state: StatusState;
  readonly description: string;
  readonly url: string;
}

export interface HostPermission {
  readonly name: string;
  readonly present: boolean;
  /** What does not work without it. */
  readonly prevents: string;
}

export interface HostCheck {
  readonly account: string;
  readonly permissions: readonly HostPermission[];
}

export interface Page<T> {
  readonly items: readonly T[];
  /** The number of the next page. */
  readonly next: number | null;
}

/** Calls of one connection. All of them throw `HostError`. */
export interface CodeHost {
  /** Lengths in characters that the host accepts. */
  readonly limits: {
    readonly description: number;
    readonly comment: number;
    readonly context: number;
  };
  /** Whether a comment can hold HTML: folded parts and a marker that readers do not see. */
  readonly hasHtmlComments: boolean;
  check(): Promise<HostCheck>;
  repositories(page: number, size: number): Promise<Page<HostRepository>>;
  /** By its full name, or by its id where the name may have changed. */
  repository(
    key: { readonly full_name: string } | { readonly id: string },
  ): Promise<HostRepository>;
  /** The commit of a branch; null if there is no such branch. */
  head(repository: RepositoryKey, branch: string): Promise<string | null>;
  /** The open ones, newest first. */
  pullRequests(repository: RepositoryKey, page: number): Promise<Page<PullRequest>>;
  /** The commits that a merge queue is about to merge, where the host has one. */
  mergeHeads?(repository: RepositoryKey): Promise<readonly string[]>;
  /** How an earlier one ended; null while it is open. */
  outcomeOf(
    repository: RepositoryKey,
    number: number,
  ): Promise<{ readonly merged: string | null } | null>;
  changedFiles(repository: RepositoryKey, number: number): Promise<ChangedFiles>;
  /** The files that differ between two commits of a branch. */
  comparedFiles(repository: RepositoryKey, from: string, to: string): Promise<ChangedFiles>;
  setStatus(repository: RepositoryKey, commit: string, status: Status): Promise<void>;
  /** Returns the id of our own comment with the marker; null if there is none. */
  findComment(repository: RepositoryKey, number: number, marker: string): Promise<string | null>;
  /** Writes a comment, or edits that one, and returns its id; null if that one is gone. */
  writeComment(
    repository: RepositoryKey,
    number: number,
    body: string,
    id: string | null,
  ): Promise<string | null>;
  /** Whether a person may write to the repository. */
  mayWrite(repository: RepositoryKey, account: string): Promise<boolean>;
  /** Registers the webhook, unless it is there already. */
  addWebhook(repository: RepositoryKey, url: string, secret: string): Promise<void>;
}

/** What a webhook says; everything else is asked of the host. */
export interface EventKind {
  /** Whether one of the secrets signed the body, by this kind's own headers. */
  isSigned(headers: IncomingHttpHeaders, body: Buffer, secrets: readonly string[]): boolean;
  /** The id of the delivery, which a repetition has too. */
  deliveryOf(headers: IncomingHttpHeaders): string | undefined;
  /** The id of the repository that the event is about. */
  repositoryIn(payload: unknown): string | undefined;
  /** The commit that was pushed, and the id of the account that did; a host without sign-in: none. */
  pushIn?(payload: unknown): Push | undefined;
}

export interface Push {
  readonly commit: string;
  readonly account: string;
}

/** Undefined unless both are known. */
export const pushOf = (commit: unknown, account: unknown): Push | undefined =>
  typeof commit === "string" && (typeof account === "string" || typeof account === "number")
    ? { commit: commit.slice(0, 64), account: String(account).slice(0, 100) }
    : undefined;
