/** The kinds of callers that the guards find. */
import type { Access, RoleOrNone } from "../domain/roles.ts";
import type { OwnedTable } from "../store/teams/teams.ts";
import type { WorkerCallerRow } from "../store/workers/workers.ts";

/** A request is used directly: calls that record nothing copy nothing. */
export interface Origin {
  /** The client's address; behind trusted proxies the one that they report. */
  readonly ip: string;
  readonly id: string;
  readonly headers: { readonly "user-agent"?: string | undefined };
}

export interface SignedIn {
  readonly user_id: string;
  readonly email: string;
  /** The login (`sid`). */
  readonly login_id: string;
}

export interface Space extends Access {
  readonly space_id: string;
  /** Null: a personal space. */
  readonly slug: string | null;
}

/** An access token acts for the person who created it. */
export interface UserCaller extends SignedIn {
  /** `token`: an access token, whose id is then the `login_id`. */
  readonly login_kind: "session" | "cli" | "token";
  readonly token_name?: string;
  /** The space in which the caller acts and creates. A personal space has the id of its user. */
  readonly space_id: string;
  /** The role there, in the zone of what the request names or in the whole space (http/acting.ts). */
  readonly role: RoleOrNone;
  /** What decided the role, where roles differ by zone: it is judged again in the transaction. */
  readonly place?: { readonly table: OwnedTable; readonly id: string };
  /** All spaces in which the caller may act; of an access token, the one it was created in. */
  readonly spaces: readonly Space[];
  readonly origin: Origin;
}

/** One of the caller's spaces; without `id` that in which it acts. */
export const spaceOf = (
  { spaces, space_id }: Pick<UserCaller, "spaces" | "space_id">,
  id = space_id,
): Space | undefined => spaces.find((one) => one.space_id === id);

/** What jobs and the audit log call the caller. */
export const nameOf = ({ email, token_name }: Pick<UserCaller, "email" | "token_name">): string =>
  token_name === undefined ? email : `${token_name} (token of ${email})`;

/** Without an owner it is cloud-hosted and runs jobs of all users. */
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
