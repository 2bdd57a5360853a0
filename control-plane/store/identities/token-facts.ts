/** What a token of a job says, as it is now. */
import { sql } from "kysely";
import type { SubjectNames } from "../../domain/token-subject.ts";
import { forUpdate } from "../dialect.ts";
import { statement } from "../statement.ts";

export interface TokenFacts extends SubjectNames {
  readonly zone_id: string;
  /** Of the change that the job runs. */
  readonly commit_id: string | null;
  readonly pull_request: number | null;
  /** Of the plan that it applies, as its runner reported. */
  readonly plan_metadata: string | null;
}

/** Undefined if the configuration or its identity is gone. */
export const findTokenFacts = statement<{ job: string }, TokenFacts>((db, { job }) =>
  db
    .selectFrom("jobs")
    .innerJoin("specs", "specs.id", "jobs.spec_id")
    .innerJoin("zones", "zones.id", "specs.zone_id")
    .innerJoin("cloud_identities", "cloud_identities.id", "jobs.cloud_identity_id")
    .leftJoin("teams", "teams.id", "jobs.owner_id")
    .leftJoin("job_changes", "job_changes.job_id", "jobs.id")
    .leftJoin("pull_requests", "pull_requests.id", "job_changes.pull_request_id")
    .select([
      "teams.slug as team",
      "jobs.owner_id",
      "zones.id as zone_id",
      "zones.name as zone",
      "specs.name as configuration",
      "cloud_identities.name as identity",
      "job_changes.commit_id",
      "pull_requests.number as pull_request",
      sql<string | null>`(select execution_metadata from jobs as planned
        where planned.id = jobs.plan_job_id)`.as("plan_metadata"),
    ])
    .where("jobs.id", "=", job),
);

/** Keeps a team from getting another slug until the transaction ends. */
export const lockTeam = statement<{ id: string }, { slug: string }>((db, { id }) =>
  forUpdate(db, db.selectFrom("teams").select("slug").where("id", "=", id)),
);
