/** Who is calling, as the guards find out. */
import type { WorkerCallerRow } from "../store/workers.ts";

/** A signed-in person: a browser session or a CLI login. */
export interface UserCaller {
  readonly user_id: string;
  readonly email: string;
  /** The login (`sid`). */
  readonly login_id: string;
}

/** A worker that showed its id and token. No owner: cloud-hosted, serves everybody. */
export type WorkerCaller = WorkerCallerRow;

/** A job that showed its job token on behalf of terraform. */
export interface JobCaller {
  readonly job_id: string;
  readonly attempt: number;
  readonly spec_id: string;
  readonly owner_id: string;
}
