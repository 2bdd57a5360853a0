/**
 * A PLAN may have its own source: `source` of the request, with the paths that the request names in
 * it. The PLAN does not change the configuration, which takes them over when a DEPLOY of that plan
 * starts.
 */
import type { Source } from "../../../protocol/configurations.ts";
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
import { findChange } from "../../store/connections/job-changes.ts";
import { deleteFollow, findFollow } from "../../store/connections/follows.ts";
import type { Queries } from "../../store/db.ts";
import { findJob, findOwnJob, findSnapshot } from "../../store/jobs/jobs.ts";
import { record, system } from "../audit/audit.ts";
import type { UserCaller, WorkerCaller } from "../callers.ts";
import { findArchive } from "../../store/configurations/archives.ts";
import type { Context } from "../context.ts";
import {
  sealedText,
  shortOf,
  wholeText,
  writingNow,
  writingOf,
  type Writing,
} from "../definitions.ts";
import { ChangedMeanwhileError, type Drafts } from "../large-work.ts";

export async function findOwnFiles(tx: Queries, id: string): Promise<OwnFiles | undefined> {
  const stored = await tx.first(findSnapshot, { id });
  if (!stored || !shortOf<StoredSnapshot>(stored.config_snapshot).own_source) return undefined;
  const snapshot = JSON.parse(await wholeText(tx, stored.config_snapshot)) as StoredSnapshot;
  const { own_fields = [], source, working_directory = "", var_files = [] } = snapshot;
  if (!source) return undefined;
  const named = { working_directory, var_files };
  return { source, ...Object.fromEntries(own_fields.map((name) => [name, named[name]])) };
}

/** Whether a source can be read: it is no archive, or an archive that the owner has. */
export async function isSourceAvailable(
  tx: Queries,
  owner: string,
  source: Source,
): Promise<boolean> {
  if (source.type !== "archive") return true;
  return (await tx.first(findArchive, { owner, sha256: source.sha256 })) !== undefined;
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

/** Own files, or those of the plan that it deploys; undefined: the configuration's. */
export async function requestedFiles(
  tx: Queries,
  owner: string,
  { job_type, source, plan_job_id, ...input }: CreateJob,
  drafts: Drafts,
): Promise<OwnFiles | undefined> {
  const named = ownFieldNames.filter((name) => input[name] !== undefined);
  if (source !== undefined) {
    if (job_type !== "PLAN") throw invalid("body.source", "goes with a PLAN only");
    if (!(await isSourceAvailable(tx, owner, source)))
      throw invalid(
        "body.source.sha256",
        "is not the SHA-256 of one of your archives: upload the archive first",
      );
    return { source, ...Object.fromEntries(named.map((name) => [name, input[name]])) };
  }
  if (named.length > 0) throw invalid(`body.${named[0]}`, "goes with `source` only");
  if (!plan_job_id || !(await tx.first(findOwnJob, { id: plan_job_id, owner }))) return undefined;
  const planned = await drafts.of(["files"], () => findOwnFiles(tx, plan_job_id));
  if (planned && !(await isSourceAvailable(tx, owner, planned.source)))
    throw new RefusalError(
      "invalid_plan",
      "the uploaded files of the PLAN are so old that they were removed: plan again",
    );
  return planned;
}

/** What the stored snapshot of a job with these files records of them. */
export function ownSourceMarks(files: OwnFiles): Pick<StoredSnapshot, "own_source" | "own_fields"> {
  const own_fields = ownFieldNames.filter((name) => files[name] !== undefined);
  return { own_source: true, ...(own_fields.length > 0 ? { own_fields } : {}) };
}

/** The definition that a configuration gets when a DEPLOY of a plan with its own source starts. */
export interface Takeover {
  /** The version of the configuration that it was made from. */
  readonly version: number;
  readonly fields: readonly string[];
  readonly writing: Writing;
  /** Whether the source is elsewhere than the branch that the configuration follows. */
  readonly endsFollow: boolean;
}

const attempts = 3;

/**
 * Calls `start` with the takeover of a job, made before the transaction. A configuration that keeps
 * changing must not keep the runner waiting: after some attempts `start` is called without it, and
 * the transaction makes it.
 */
export async function withTakeover<T>(
  context: Pick<Context, "store" | "now">,
  worker: WorkerCaller,
  id: string,
  start: (takeover?: Takeover) => Promise<T>,
): Promise<T> {
  const { read } = context.store;
  const job = await read.first(findJob, { id });
  if (job?.worker_id !== worker.id || job.started_at !== null || !mayTakeOver(job)) return start();
  if (await runsChange(read, job)) return start();
  for (let attempt = 1; attempt <= attempts; attempt += 1)
    try {
      const spec = await read.first(findDefined, { id: job.spec_id });
      const files = await findOwnFiles(read, id);
      if (!spec || !files) break;
      const { version, definition } = spec;
      const before = JSON.parse(await wholeText(read, definition)) as Definition;
      const { after, ...taken } = await takenOver(read, job.spec_id, before, files);
      return await writingOf(context, job.spec_id, after, (writing) =>
        start({ version, ...taken, writing }),
      );
    } catch (error) {
      if (!(error instanceof ChangedMeanwhileError)) throw error;
    }
  return start();
}

const mayTakeOver = (job: JobRow): job is JobRow & { spec_id: string } =>
  job.job_type === "DEPLOY" && job.plan_job_id !== null && job.spec_id !== null;

/** A configuration that follows a branch stays on it. */
const runsChange = async (queries: Queries, { id }: JobRow): Promise<boolean> =>
  (await queries.first(findChange, { job: id })) !== undefined;

/** Replaces the files of the configuration when a DEPLOY of a plan with its own source starts. */
export async function takeOverFiles(
  tx: Queries,
  job: JobRow,
  now: number,
  takeover?: Takeover,
): Promise<void> {
  if (!mayTakeOver(job) || (await runsChange(tx, job))) return;
  const { spec_id: id, owner_id: owner } = job;
  const made = takeover ?? (await takeoverNow(tx, { id: job.id, spec: id }, now));
  if (!made) return;
  const spec = await tx.first(findDefined, { id });
  if (spec?.version !== made.version) throw new ChangedMeanwhileError();
  await changeDefinition(tx, id, made.writing, now);
  if (made.endsFollow) await tx.run(deleteFollow, { spec: id });
  const details = { fields: made.fields, job_id: job.id };
  const what = { action: "configuration.update", id, name: spec.name, details } as const;
  await record(tx, { by: system, owner, ...what }, now);
}

async function takeoverNow(
  tx: Queries,
  { id, spec: about }: { readonly id: string; readonly spec: string },
  now: number,
): Promise<Takeover | undefined> {
  const files = await findOwnFiles(tx, id);
  const spec = files && (await tx.first(findDefined, { id: about }));
  if (!spec) return undefined;
  const before = JSON.parse(await wholeText(tx, spec.definition)) as Definition;
  const { after, ...taken } = await takenOver(tx, about, before, files);
  const writing = await writingNow({ now: () => now }, tx, about, after);
  return { version: spec.version, ...taken, writing };
}

/** A source at the same address stays on the branch that the configuration follows. */
async function takenOver(queries: Queries, spec: string, before: Definition, files: OwnFiles) {
  const { source } = files;
  const follow = await queries.first(findFollow, { spec });
  const isSame =
    source.type === "git" && before.source.type === "git" && source.url === before.source.url;
  const taken = follow && isSame ? { ...files, source: { ...source, ref: follow.branch } } : files;
  return {
    after: sealedText(withFiles(before, taken)),
    fields: Object.keys(files),
    endsFollow: follow !== undefined && !isSame,
  };
}
