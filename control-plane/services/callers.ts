/** Who is calling, as the guards find out. */
import type { WorkerCallerRow } from "../store/workers/workers.ts";

/** Where a call comes from, for the audit log. A request is used directly; nothing is copied for calls that record nothing. */
export interface Origin {
  /** The client's address; behind trusted proxies the one that they name. */
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

/** A worker that showed its id and token. No owner: cloud-hosted, serves everybody. */
export type WorkerCaller = WorkerCallerRow & {
  /** Of the token that it showed: the worker's, or the one that a rotation replaced. */
  readonly presented_hash: string;
  readonly origin: Origin;
};

/** An automated pipeline that showed RELEASE_API_SECRET. */
export interface PipelineCaller {
  readonly origin: Origin;
}

/** A job that showed its job token on behalf of terraform. */
export interface JobCaller {
  readonly job_id: string;
  readonly attempt: number;
  readonly spec_id: string;
  readonly owner_id: string;
}
