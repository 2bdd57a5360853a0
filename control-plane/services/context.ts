/** What every service needs. Created once by the app; tests create the same. */
import type { Blobs } from "../blobs/blobs.ts";
import type { SecretBox } from "../domain/secret-box.ts";
import type { OidcPeriods, Providers } from "../domain/providers.ts";
import type { SignInRule } from "../domain/sign-in-allow.ts";
import type { Quotas } from "../domain/quotas.ts";
import type { Retention } from "../domain/retention.ts";
import type { Store } from "../store/db.ts";
import type { Mailer } from "../outbound/mail.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { Wakeups } from "../wakeups/wakeups.ts";

export interface Context {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly blobs: Blobs;
  /** Encryption at rest, one box for each purpose. */
  box(purpose: string): SecretBox;
  /** Signs access, refresh and session tokens: the UTF-8 bytes of CLI_JWT_SECRET. */
  readonly jwtSecret: Uint8Array;
  readonly releaseSecret: string | undefined;
  readonly providers: Providers;
  readonly oidc: OidcPeriods;
  /** To places that users name. */
  readonly outbound: Outbound;
  /** Null without WINDLASS_SMTP_URL. */
  readonly mail: Mailer | null;
  /** Who may sign in with one of them. */
  readonly signInAllow: readonly SignInRule[];
  /** Who may create teams; empty: everyone. */
  readonly teamCreators: readonly SignInRule[];
  /** Who sees the page of the people who are signed in; empty: no user. */
  readonly operators: readonly SignInRule[];
  /** The server's address for users and runners, without a slash at the end. */
  publicUrl(): string;
  /** The address of the issuer of tokens for jobs, without a slash at the end. */
  issuerUrl(): string;
  /** Periods in milliseconds. */
  readonly periods: {
    readonly heartbeat: number;
    readonly offline: number;
    readonly lost: number;
    /** After it, a queued job is of the first class of the queue. */
    readonly lift: number;
  };
  readonly retention: Retention;
  readonly quotas: Quotas;
  /** How many event streams a person may have open at one time. */
  readonly streamsPerPerson: number;
  now(): number;
  /** Aborted when the server drains, which ends waiting requests. */
  readonly draining: AbortSignal;
}
