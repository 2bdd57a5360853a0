/** Fills a data directory with users, workers and queued jobs before its server starts. */
import { unchecked } from "../../control-plane/domain/drift.ts";
import { approvalColumns } from "../../control-plane/domain/approvals.ts";
import { join } from "node:path";
import { v7 as uuid } from "uuid";
import { newlyQueued } from "../../control-plane/domain/job.ts";
import { hashToken } from "../../control-plane/domain/tokens.ts";
import { newlyRegistered } from "../../control-plane/domain/worker.ts";
import { openSqlite } from "../../control-plane/store/engines/sqlite.ts";
import { insertJob } from "../../control-plane/store/jobs/jobs.ts";
import { storedJson } from "../../control-plane/services/definitions.ts";
import { insertSpec } from "../../control-plane/store/configurations/configurations.ts";
import { insertZone } from "../../control-plane/store/zones/zones.ts";
import { insertWorker } from "../../control-plane/store/workers/workers.ts";

export const token = "wlw_bench";
const files = { "main.tf": 'output "cluster_name" {\n  value = "bench"\n}\n'.repeat(20) };
const definition = JSON.stringify({ source: { type: "inline", files }, backend: "managed" });

export interface Filled {
  /** A worker with nothing to claim. */
  readonly idleWorker: string;
  readonly idleOwner: string;
  /** A worker of the owner of the queued jobs. */
  readonly busyWorker: string;
  readonly busyOwner: string;
  /** A job that `idleWorker` holds and has started. */
  readonly heldJob: string;
  /** Jobs that `busyWorker` holds and has started. */
  readonly heldJobs: readonly string[];
}

/** Adds workers to an owner. Returns their ids. */
export async function addWorkers(
  dataDirectory: string,
  owner: string,
  count: number,
): Promise<string[]> {
  const store = await openSqlite(join(dataDirectory, "windlass.db"));
  const ids = Array.from({ length: count }, () => uuid());
  await store.write(async (tx) => {
    for (const [at, id] of ids.entries()) await insertWorker(tx, worker(id, owner, `runner-${at}`));
  });
  await store.close();
  return ids;
}

const worker = (id: string, owner: string, name: string) => ({
  ...newlyRegistered,
  id,
  owner_id: owner,
  name,
  mode: "self-hosted" as const,
  token_hash: hashToken(token),
  labels: "[]",
  created_at: Date.now(),
  last_heartbeat_at: Date.now(),
  metadata: "{}",
});

export async function fill(dataDirectory: string, queued: number, held = 0): Promise<Filled> {
  const store = await openSqlite(join(dataDirectory, "windlass.db"));
  const [idle, busy] = [await addOwner(), await addOwner()];
  const heldBy = ({ worker }: typeof idle) =>
    ({ status: "PROCESSING", worker_id: worker, started_at: 1 }) as const;
  const heldJob = await addJob(idle, heldBy(idle));
  const heldJobs: string[] = [];
  for (let left = held; left > 0; left -= 500)
    heldJobs.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(left, 500) }, () => addJob(busy, heldBy(busy))),
      )),
    );
  for (let left = queued; left > 0; left -= 500)
    await Promise.all(Array.from({ length: Math.min(left, 500) }, () => addJob(busy, {})));
  await store.close();
  return {
    idleWorker: idle.worker,
    idleOwner: idle.owner,
    busyWorker: busy.worker,
    busyOwner: busy.owner,
    heldJob,
    heldJobs,
  };

  async function addOwner() {
    const [owner, zone, workerId] = [uuid(), uuid(), uuid()];
    const at = { created_at: Date.now() };
    await store.write(async (tx) => {
      await tx.sql
        .insertInto("users")
        .values({ id: owner, email: `${owner}@example.com`, ...at })
        .execute();
      await insertZone(tx, { id: zone, owner_id: owner, name: "zone", ...at, updated_at: 1 });
      await insertWorker(tx, worker(workerId, owner, "bench"));
    });
    return { owner, zone, worker: workerId };
  }

  async function addJob(
    { owner, zone }: { owner: string; zone: string },
    change: { status?: "PROCESSING"; worker_id?: string; started_at?: number },
  ): Promise<string> {
    const [id, spec] = [uuid(), uuid()];
    await store.write(async (tx) => {
      await insertSpec(tx, {
        id: spec,
        owner_id: owner,
        zone_id: zone,
        cloud_identity_id: null,
        name: spec,
        project_name: spec,
        labels: "[]",
        definition: storedJson(definition),
        definition_id: null,
        status: "NEW",
        error_message: null,
        cluster_name: null,
        cluster_endpoint: null,
        gitops_url: null,
        created_at: 1,
        updated_at: 1,
        deleted_owner_id: null,
        deployed_backend: null,
        failed_job_id: null,
        failed_checks: null,
        outputs_omitted: 0,
        version: 0,
        ...unchecked,
        expires_at: null,
        ...approvalColumns(null),
      });
      await insertJob(
        tx,
        {
          ...newlyQueued,
          id,
          owner_id: owner,
          job_type: "PLAN",
          spec_id: spec,
          zone_id: zone,
          cloud_identity_id: null,
          assigned_worker_id: null,
          plan_job_id: null,
          labels: "[]",
          features: "[]",
          config_hash: "",
          timeout_seconds: 3600,
          created_at: 1,
          ...change,
        },
        { config_snapshot: storedJson(definition), definition_id: null },
      );
    });
    return id;
  }
}
