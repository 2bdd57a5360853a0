/** Who is calling, as the guards find out. */
import type { WorkerMode } from "../../protocol/workers.ts";

/** A signed-in person: a browser session or a CLI login. */
export interface UserCaller {
  readonly user_id: string;
  readonly email: string;
  /** The login (`sid`). */
  readonly login_id: string;
}

/** A worker that showed its id and token. */
export interface WorkerCaller {
  readonly id: string;
  /** Null: cloud-hosted, serves everybody. */
  readonly owner_id: string | null;
  readonly mode: WorkerMode;
  /** JSON, as stored: claims hand it to the database as it is. */
  readonly labels: string;
  readonly offline_at: number | null;
  readonly draining_at: number | null;
  readonly last_call_at: number | null;
  readonly last_heartbeat_at: number | null;
  readonly instance_id: string | null;
  readonly token_hash: string;
}

/** A job that showed its job token on behalf of terraform. */
export interface JobCaller {
  readonly job_id: string;
  readonly attempt: number;
  readonly spec_id: string;
  readonly owner_id: string;
}
