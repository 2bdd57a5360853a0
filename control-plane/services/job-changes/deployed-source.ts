/**
 * A PLAN with `deployed`, and the DEPLOY of it, run what was deployed last, whatever the configuration
 * is now. Unlike own files, these never become the configuration's.
 */
import type { CreateJob, ExecutionMetadata } from "../../../protocol/jobs.ts";
import type { ConfigSnapshot } from "../../../protocol/configurations.ts";
import type { Deployment } from "../../domain/deployed-snapshot.ts";
import { isDestruction } from "../../domain/job.ts";
import { invalid, RefusalError } from "../../domain/refusal.ts";
import type { SecretBox } from "../../domain/secret-box.ts";
import { unseal } from "../../domain/snapshot.ts";
import type { StoredSnapshot } from "../../domain/snapshot-values.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findJob, findLastDeployment, findSnapshot } from "../../store/jobs/jobs.ts";
import { shortOf, wholeText } from "../definitions.ts";
import type { Drafts } from "../large-work.ts";
import { isSourceAvailable } from "./own-source.ts";

interface Parts {
  readonly box: SecretBox;
  readonly drafts: Drafts;
}

/** Undefined: the job runs the configuration, or own files. */
export async function requestedDeployment(
  tx: Queries,
  input: CreateJob,
  spec: Pick<SpecRow, "id" | "name" | "owner_id">,
  parts: Parts,
): Promise<Deployment | undefined> {
  if (input.deployed !== true)
    return input.plan_job_id ? plannedDeployment(tx, input.plan_job_id, parts) : undefined;
  if (input.job_type !== "PLAN") throw invalid("body.deployed", "goes with a PLAN only");
  if (input.source !== undefined) throw invalid("body.deployed", "does not go with `source`");
  const last = await tx.first(findLastDeployment, { spec: spec.id });
  if (!last || isDestruction(last)) throw notDeployed(`"${spec.name}" is not deployed: deploy it`);
  const found = await findDeployment(tx, last.id, parts);
  const { source } = found.snapshot;
  if (source.type === "git" && found.commit === null && !isCommit(source.ref))
    throw notDeployed(
      `the commit of "${spec.name}" that was deployed is not known: deploy it again`,
    );
  if (!(await isSourceAvailable(tx, spec.owner_id, source)))
    throw notDeployed(
      `the uploaded files that "${spec.name}" was deployed from are so old that they were removed: deploy it again`,
    );
  return found;
}

/** That of the plan, or of the DEPLOY of it. */
export const plannedDeployment = (
  tx: Queries,
  id: string,
  parts: Parts,
): Promise<Deployment | undefined> =>
  parts.drafts.of(["deployment of", id], async () => {
    const of = await findDeployedOf(tx, id);
    return of === undefined ? undefined : findDeployment(tx, of, parts);
  });

/** The DEPLOY whose source a job plans or applies; undefined: it has another one. */
export async function findDeployedOf(tx: Queries, id: string): Promise<string | undefined> {
  const stored = await tx.first(findSnapshot, { id });
  return stored && shortOf<StoredSnapshot>(stored.config_snapshot).deployed_of;
}

const findDeployment = (tx: Queries, id: string, { box, drafts }: Parts): Promise<Deployment> =>
  drafts.of(["deployment", id], async () => {
    const [job, stored] = [await tx.first(findJob, { id }), await tx.first(findSnapshot, { id })];
    if (!stored) throw notDeployed("what was deployed is no longer known: deploy it again");
    const snapshot = JSON.parse(await wholeText(tx, stored.config_snapshot)) as ConfigSnapshot;
    const { source_commit } = JSON.parse(job?.execution_metadata ?? "{}") as ExecutionMetadata;
    const commit = source_commit !== undefined && isCommit(source_commit) ? source_commit : null;
    return { id, snapshot: unseal(snapshot, box, id), commit };
  });

const isCommit = (text: string | undefined): boolean => /^[0-9a-f]{40,64}$/.test(text ?? "");

const notDeployed = (detail: string): RefusalError => new RefusalError("not_deployed", detail);
