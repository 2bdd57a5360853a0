import { sql } from "kysely";
import type { JobRow } from "../../domain/job.ts";
import { statement } from "../statement.ts";
import type { StateVersionRow } from "../states/states.ts";
import type { SpecRow } from "./configurations.ts";

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

export type TileRow = Pick<
  SpecRow,
  "id" | "name" | "status" | "deployed_backend" | "failed_checks" | "drift_status"
> & {
  readonly zone: string;
  readonly failed_status: JobRow["status"] | null;
} & Nullable<
    Pick<StateVersionRow, "resource_count" | "job_id" | "stored_by"> & {
      readonly stored_at: number;
      readonly writer: string;
      readonly last_id: string;
    } & Pick<JobRow, "job_type" | "destroys" | "created_by" | "ended_at">
  >;

/**
 * Some configurations of an owner, each with its newest state, its last deployment that succeeded and
 * its unresolved failure, in one statement. Their zone is read first, because the index that keeps
 * definitions from being opened begins with it.
 */
export const findTiles = statement<{ owner: string; specs: string }, TileRow>(
  (db, { owner, specs }) => {
    const query = sql`
      select specs.id, specs.name, specs.status, specs.deployed_backend, specs.failed_checks, specs.drift_status,
        (select zones.name from zones where zones.id = specs.zone_id) as zone,
        failed.status as failed_status, states.resource_count, states.job_id, states.stored_by,
        states.created_at as stored_at, writer.created_by as writer,
        last.id as last_id, last.job_type, last.destroys, last.created_by, last.ended_at
      from json_each(${specs}) as wanted
      join specs as place on place.id = wanted.value
      join specs indexed by specs_summary
        on specs.owner_id = ${owner} and specs.zone_id = place.zone_id and specs.id = place.id
      left join jobs as failed on failed.id = specs.failed_job_id
      left join state_versions as states on states.id =
        (select id from state_versions indexed by state_versions_spec where spec_id = specs.id order by id desc limit 1)
      left join jobs as writer on writer.id = states.job_id
      left join jobs as last on last.id =
        (select id from jobs indexed by jobs_deployed where spec_id = specs.id and status = 'SUCCESS'
          and job_type <> 'PLAN' and job_type <> 'DESTROY_WORKER' order by claimed_at desc limit 1)`;
    return { compile: () => query.compile(db) };
  },
);
