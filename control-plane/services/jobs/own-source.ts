/**
 * The source of a PLAN that is not its configuration's (`source` of the request, with what it names in
 * that source). A PLAN changes nothing: the configuration takes them over when a DEPLOY of that plan
 * starts.
 */
import type { CreateJob } from "../../../protocol/jobs.ts";
import type { JobRow } from "../../domain/job.ts";
import { invalid, RefusalError } from "../../domain/refusal.ts";
import { checkPermission, permissionForJob } from "../../domain/roles.ts";
import { withFiles } from "../../domain/snapshot.ts";
import {
  ownFieldNames,
  type Definition,
  type OwnFiles,
  type StoredSnapshot,
} from "../../domain/snapshot-values.ts";
import { changeDefinition, findDefined } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findOwnJob, findSnapshot } from "../../store/jobs/jobs.ts";
import { record, system } from "../audit/audit.ts";
import type { UserCaller } from "../callers.ts";
import { isKept } from "../configurations/archives.ts";
import type { Drafts } from "../large-work.ts";
import { sealedText, shortOf, wholeText, writingNow } from "../definitions.ts";

/** Returns the files of a job that has another source than its configuration. */
export async function findOwnFiles(tx: Queries, id: string): Promise<OwnFiles | undefined> {
  const stored = await tx.first(findSnapshot, { id });
  if (!stored || !shortOf<StoredSnapshot>(stored.config_snapshot).own_source) return undefined;
  const snapshot = JSON.parse(await wholeText(tx, stored.config_snapshot)) as StoredSnapshot;
  const { own_fields = [], source, working_directory = "", var_files = [] } = snapshot;
  if (!source) return undefined;
  const named = { working_directory, var_files };
  return { source, ...Object.fromEntries(own_fields.map((name) => [name, named[name]])) };
}

/** Throws 403 unless the caller may cancel or retry a job. */
export async function checkJobPermission(
  tx: Queries,
  user: UserCaller,
  { id, job_type }: JobRow,
): Promise<void> {
  const stored = job_type === "PLAN" ? await tx.first(findSnapshot, { id }) : undefined;
  const hasOwnSource =
    stored !== undefined && shortOf<StoredSnapshot>(stored.config_snapshot).own_source === true;
  checkPermission(user, permissionForJob(job_type, hasOwnSource));
}

/**
 * Returns the files that a request names, itself or by the plan that it deploys; undefined: the
 * configuration's.
 */
export async function requestedFiles(
  tx: Queries,
  owner: string,
  { job_type, source, plan_job_id, ...input }: CreateJob,
  drafts: Drafts,
): Promise<OwnFiles | undefined> {
  const named = ownFieldNames.filter((name) => input[name] !== undefined);
  if (source !== undefined) {
    if (job_type !== "PLAN") throw invalid("body.source", "goes with a PLAN only");
    if (!(await isKept(tx, owner, source)))
      throw invalid(
        "body.source.sha256",
        "is not the SHA-256 of one of your archives: upload the archive first",
      );
    return { source, ...Object.fromEntries(named.map((name) => [name, input[name]])) };
  }
  if (named.length > 0) throw invalid(`body.${named[0]}`, "goes with `source` only");
  if (!plan_job_id || !(await tx.first(findOwnJob, { id: plan_job_id, owner }))) return undefined;
  const planned = await drafts.of(["files"], () => findOwnFiles(tx, plan_job_id));
  if (planned && !(await isKept(tx, owner, planned.source)))
    throw new RefusalError(
      "invalid_plan",
      "the uploaded files of the PLAN are so old that they were removed: plan again",
    );
  return planned;
}

/** The marks with which a snapshot is stored that has these files. */
export function markOf(files: OwnFiles): Pick<StoredSnapshot, "own_source" | "own_fields"> {
  const own_fields = ownFieldNames.filter((name) => files[name] !== undefined);
  return { own_source: true, ...(own_fields.length > 0 ? { own_fields } : {}) };
}

/** Replaces the configuration's files when a DEPLOY of such a plan starts. */
export async function takeOverFiles(tx: Queries, job: JobRow, now: number): Promise<void> {
  const { spec_id: id, owner_id: owner, job_type, plan_job_id } = job;
  if (job_type !== "DEPLOY" || plan_job_id === null || id === null) return;
  const files = await findOwnFiles(tx, job.id);
  if (!files) return;
  const spec = await tx.first(findDefined, { id });
  if (spec) {
    const before = JSON.parse(await wholeText(tx, spec.definition)) as Definition;
    const after = sealedText(withFiles(before, files));
    await changeDefinition(tx, id, await writingNow({ now: () => now }, tx, id, after), now);
  }
  const details = { fields: Object.keys(files), job_id: job.id };
  const what = { action: "configuration.update", id, name: spec?.name ?? null, details } as const;
  await record(tx, { by: system, owner, ...what }, now);
}
