/** Complete rows for tests of the store, with the fields that the test gives. */
import { v7 as uuid } from "uuid";
import { approvalColumns } from "../../../control-plane/domain/approvals.ts";
import { unchecked } from "../../../control-plane/domain/drift.ts";
import { newlyQueued, type JobRow } from "../../../control-plane/domain/job.ts";
import { newlyRegistered, type WorkerRow } from "../../../control-plane/domain/worker.ts";
import type { Insertable } from "kysely";
import type { PullRequestsTable } from "../../../control-plane/store/connection-tables.ts";
import type { StateVersionsTable, Tables } from "../../../control-plane/store/tables.ts";
import type { NotificationRulesTable } from "../../../control-plane/store/notification-tables.ts";
import type { Store } from "../../../control-plane/store/db.ts";
import { storedJson } from "../../../control-plane/services/definitions.ts";
import { insertJob } from "../../../control-plane/store/jobs/jobs.ts";
import { insertSpec } from "../../../control-plane/store/configurations/configurations.ts";
import { insertZone } from "../../../control-plane/store/zones/zones.ts";
import { insertWorker } from "../../../control-plane/store/workers/workers.ts";

export interface Owner {
  readonly id: string;
  readonly zone: string;
}

/** Adds a user with a zone. */
export async function addOwner(store: Store): Promise<Owner> {
  const [id, zone] = [uuid(), uuid()];
  await store.write(async (tx) => {
    const email = `${id}@example.com`;
    await tx.sql
      .insertInto("users")
      .values({ id, email, link_email: email, created_at: 1 })
      .execute();
    await insertZone(tx, { id: zone, owner_id: id, name: "zone", created_at: 1, updated_at: 1 });
  });
  return { id, zone };
}

/** Adds a configuration of the owner and returns its id. */
export async function addSpec(
  store: Store,
  { id: owner_id, zone: zone_id }: Owner,
): Promise<string> {
  const id = uuid();
  await store.write((tx) =>
    insertSpec(tx, {
      id,
      owner_id,
      zone_id,
      cloud_identity_id: null,
      name: id,
      project_name: id,
      labels: "[]",
      definition: storedJson('{"source":{"type":"inline","files":{"main.tf":""}}}'),
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
    }),
  );
  return id;
}

/** Adds a queued job of the owner. */
export async function addJob(
  store: Store,
  owner: Owner,
  change: Partial<JobRow> = {},
): Promise<JobRow> {
  const job: JobRow = {
    ...newlyQueued,
    id: uuid(),
    owner_id: owner.id,
    job_type: "PLAN",
    spec_id: null,
    zone_id: owner.zone,
    cloud_identity_id: null,
    assigned_worker_id: null,
    plan_job_id: null,
    labels: "[]",
    features: "[]",
    config_hash: null,
    timeout_seconds: 3600,
    created_at: 1,
    ...change,
  };
  const config_snapshot = storedJson('{"source":{"type":"inline","files":{"main.tf":""}}}');
  await store.write((tx) => insertJob(tx, job, { config_snapshot, definition_id: null }));
  return job;
}

/** Adds the row of a job's plan artifact, without its content. */
export async function addArtifact(store: Store, job_id: string): Promise<void> {
  const artifact = { job_id, attempt: 1, blob: "b", size_bytes: 1, sha256: "", created_at: 1 };
  await store.write((tx) => tx.sql.insertInto("plan_artifacts").values(artifact).execute());
}

/** Adds a worker; without an owner it is cloud-hosted. */
export async function addWorker(
  store: Store,
  owner: Owner | null,
  change: Partial<WorkerRow> = {},
): Promise<WorkerRow> {
  const worker: WorkerRow = {
    ...newlyRegistered,
    id: uuid(),
    owner_id: owner?.id ?? null,
    name: "worker",
    mode: owner ? "self-hosted" : "cloud-hosted",
    token_hash: "",
    labels: "[]",
    created_at: 1,
    metadata: "{}",
    ...change,
  };
  await store.write((tx) => insertWorker(tx, worker));
  return worker;
}

/** Inserts rows into a table, written out by the test. */
export async function addRows<T extends keyof Tables>(
  store: Store,
  table: T,
  ...rows: readonly Insertable<Tables[T]>[]
): Promise<void> {
  if (rows.length === 0) return;
  await store.write((tx) =>
    tx.sql
      .insertInto(table)
      .values(rows as never)
      .execute(),
  );
}

/** Adds a version of a configuration's managed state, without its content. */
export const addState = (
  store: Store,
  change: { readonly spec_id: string; readonly blob: string } & Partial<
    Insertable<StateVersionsTable>
  >,
): Promise<void> =>
  addRows(store, "state_versions", {
    serial: 1,
    lineage: "l",
    md5: "",
    size_bytes: 1,
    resources: 0,
    resource_count: 0,
    job_id: null,
    created_at: 1,
    ...change,
  });

/** Adds an open pull request of a connection. */
export async function addPullRequest(
  store: Store,
  change: {
    readonly owner_id: string;
    readonly connection_id: string;
  } & Partial<PullRequestsTable>,
): Promise<PullRequestsTable> {
  const row: PullRequestsTable = {
    id: uuid(),
    repository_id: "1",
    repository: "ada/infra-1",
    number: 1,
    title: "a change",
    author_id: "3",
    author: "bob",
    pusher_id: null,
    url: "http://host/ada/infra-1/pulls/1",
    state: "open",
    head_branch: "topic",
    head_commit: "a".repeat(40),
    base_branch: "main",
    base_commit: null,
    is_fork: 0,
    is_draft: 0,
    merged_commit: null,
    approved_commit: null,
    planned_commit: null,
    skipped: null,
    comment_id: null,
    posted_comment: null,
    posted_status: null,
    post_error: null,
    post_at: 0,
    created_at: 1,
    updated_at: 1,
    ...change,
  };
  await addRows(store, "pull_requests", row);
  return row;
}

/** Adds a notification rule that selects everything, for mail without recipients. Returns its id. */
export async function addRule(
  store: Store,
  owner: Owner,
  change: Partial<Insertable<NotificationRulesTable>>,
): Promise<string> {
  const id = uuid();
  const names = "job approval plan drift worker queue state schedule connection token audit";
  const events = [...names.split(" ").map((name) => `${name}.*`), "deployed", "destroyed"];
  await addRows(store, "notification_rules", {
    id,
    owner_id: owner.id,
    name: id,
    kind: "email",
    addresses: "[]",
    events: JSON.stringify(events),
    stalled_minutes: 15,
    enabled: 1,
    secrets: "{}",
    created_at: 1,
    updated_at: 1,
    ...change,
  });
  return id;
}
