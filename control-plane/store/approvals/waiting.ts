import { sql, type RawBuilder } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import { statement } from "../statement.ts";
import { isAuthor, mayApprove, waitsForVoteOf } from "./approvals.ts";

/** A deployment with a plan that waits for approvals. */
export type WaitingRow = Pick<
  JobRow,
  | "id"
  | "owner_id"
  | "job_type"
  | "status"
  | "plan_job_id"
  | "created_by"
  | "created_at"
  | "destroys"
> & { readonly spec_id: string; readonly name: string };

/** How many waiting deployments in the spaces of a person are searched for those of the person. */
const searchedWaiting = 1000;

/** Whether a person may approve the deployment `gated` in a space of `searched`, and has not. */
const isFor = (user: unknown): RawBuilder<unknown> =>
  sql`(${mayApprove("searched", "gated")} and ${waitsForVoteOf(user, "gated")})`;

const waiting = (select: (user: unknown) => RawBuilder<unknown>) =>
  statement<{ user: string; limit: number }, WaitingRow>((db, { user, limit }) => {
    const query = sql`select gated.id, gated.owner_id, gated.job_type, gated.status, gated.plan_job_id,
        gated.created_by, gated.created_at, gated.destroys, gated.spec_id, specs.name
      from (
        select jobs.id, whom.role, whom.zones from (
            select space_id, role, zones from memberships where user_id = ${user}
            union all select id as space_id, 'admin' as role, '{}' as zones from users where id = ${user}) as whom
          cross join jobs indexed by jobs_unapproved
          where jobs.owner_id = whom.space_id and jobs.status = 'QUEUED' and jobs.unapproved = 1
          limit ${sql.lit(searchedWaiting)}) as searched
        cross join jobs as gated cross join specs
      where gated.id = searched.id and gated.plan_job_id is not null and specs.id = gated.spec_id
        and ${select(user)}
      order by gated.id limit ${limit}`;
    return { compile: () => query.compile(db) };
  });

/** Those that the person may approve and has not, the oldest first. */
export const listWaitingFor = waiting(isFor);

/** Those of which the person is an author, and that others must approve. */
export const listOwnWaiting = waiting(
  (user) => sql`coalesce(${isAuthor("gated", user)}, false) and not ${isFor(user)}`,
);

/** Deployments in all spaces that wait for approvals of their plan, after one of them by id. */
export const listUnapproved = statement<
  { after: string; limit: number },
  Pick<JobRow, "id" | "plan_job_id">
>((db, { after, limit }) => {
  const query = sql`select id, plan_job_id from jobs indexed by jobs_unapproved
    where status = 'QUEUED' and unapproved = 1 and plan_job_id is not null and id > ${after}
    order by id limit ${limit}`;
  return { compile: () => query.compile(db) };
});
