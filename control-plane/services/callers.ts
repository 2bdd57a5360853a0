/** The kinds of callers that the guards find. */
import type { WorkerCallerRow } from "../store/workers/workers.ts";

/**
 * Where a call comes from, for the audit log. A request is used directly; nothing is copied for
 * calls that record nothing.
 */
export interface Origin {
  /** The client's address; behind trusted proxies the one that they report. */
  readonly ip: string;
  /** The request's id. */
  readonly id: string;
  readonly headers: { readonly "user-agent"?: string | undefined };
}

/** The login of a person. */
export interface SignedIn {
  readonly user_id: string;
  readonly email: string;
  /** The login (`sid`). */
  readonly login_id: string;
}

/** A signed-in person: a browser session or a CLI login. */
export interface UserCaller extends SignedIn {
  readonly login_kind: "session" | "cli";
  readonly origin: Origin;
}

/**
 * A worker that sent its id and token. Without an owner it is cloud-hosted and runs jobs of all
 * users.
 */
export type WorkerCaller = WorkerCallerRow & {
  /** The hash of the token that it sent: the worker's, or the one that a rotation replaced. */
  readonly presented_hash: string;
  readonly origin: Origin;
};

/** An automated pipeline that sent RELEASE_API_SECRET. */
export interface PipelineCaller {
  readonly origin: Origin;
}

/** A job whose terraform sent its job token. */
export interface JobCaller {
  readonly job_id: string;
  readonly attempt: number;
  readonly spec_id: string;
  readonly owner_id: string;
}
