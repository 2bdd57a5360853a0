/** Who creates a job: a person, a schedule, or a connection to a code host, for a commit. */
import type { Change, Follow } from "../../../protocol/follow.ts";
import type { Job } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import type { ConnectionRow } from "../../store/connections/connections.ts";
import type { RunRow } from "../../store/schedules/rounds.ts";
import type { ScheduleRow } from "../../store/schedules/schedules.ts";
import { person, type Actor } from "../audit/audit.ts";
import { nameOf, type UserCaller } from "../callers.ts";

export interface Creator {
  readonly space_id: string;
  /** What jobs and the audit log call the creator. */
  readonly name: string;
  /** Null: no person. */
  readonly user_id: string | null;
  readonly actor: Actor;
  readonly schedule_id?: string;
  readonly queue_class: JobRow["queue_class"];
}

export const creatorOf = (user: UserCaller): Creator => ({
  space_id: user.space_id,
  name: nameOf(user),
  user_id: user.user_id,
  actor: person(user),
  queue_class: 0,
});

export function connectionCreator({
  id,
  owner_id,
  name,
}: Pick<ConnectionRow, "id" | "owner_id" | "name">): Creator {
  const called = `${name} (connection)`;
  const actor = { kind: "connection", id, name: called, origin: null } as const;
  return { space_id: owner_id, name: called, user_id: null, actor, queue_class: 1 };
}

/** `author_id`: a person who may not approve the job as if it were another's. */
export function scheduleCreator(
  { id, owner_id, name }: Pick<ScheduleRow, "id" | "owner_id" | "name">,
  { author_id, queue_class }: Pick<RunRow, "author_id" | "queue_class">,
): Creator {
  const called = `${name}${scheduleMark}`;
  const actor = { kind: "schedule", id, name: called, origin: null } as const;
  const by = { space_id: owner_id, name: called, user_id: author_id, actor };
  return { ...by, schedule_id: id, queue_class };
}

const scheduleMark = " (schedule)";

/** The schedule that queued a job, by the name that it had then. */
export const scheduleOf = ({
  schedule_id,
  created_by,
}: JobRow): NonNullable<Job["schedule"]> | null =>
  schedule_id === null
    ? null
    : { id: schedule_id, name: (created_by ?? "").slice(0, -scheduleMark.length) };

/** The commit that a job runs for a connection. */
export interface JobOrigin {
  readonly connection_id: string | null;
  readonly pull_request_id: string | null;
  /** The pull request whose merge made the commit. */
  readonly merged_request_id: string | null;
  readonly change: Change;
  /** Whether it is a PLAN of a head that is merged into its base. */
  readonly isPullRequest: boolean;
  /** Which values the job gets: for a pull request, those that its configuration gives to it. */
  readonly values: Follow["values"];
}
