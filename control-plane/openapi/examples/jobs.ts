import {
  Approval,
  ApprovalNeed,
  ApprovalRule,
  DecideJob,
  WrittenApprovalRule,
} from "../../../protocol/approvals.ts";
import {
  AppendedLogs,
  AppendLogs,
  ClaimedJob,
  DebugLog,
  CloudIdentityCredentials,
  PlanArtifact,
  ReportStatus,
} from "../../../protocol/executions.ts";
import {
  CreateJob,
  ExecutionMetadata,
  Job,
  LogChunk,
  LogResource,
} from "../../../protocol/jobs.ts";
import {
  NotDeployable,
  PlannedAttribute,
  PlannedChange,
  PlanSummary,
} from "../../../protocol/plan-summary.ts";
import { snapshot } from "./configurations.ts";
import { at, example, ids, sha256 } from "./example.ts";

const metadata = {
  cluster_name: "production-eu",
  cluster_endpoint: "https://production-eu.example.com",
  outputs: { cluster_name: { value: "production-eu", type: "string", sensitive: false } },
  source_commit: "9b2f6c1d0e8a4b7395c2d1f0a6e8b4c7d3f5a190",
  warnings: [{ summary: "Deprecated attribute", file: "main.tf", line: 12 }],
};

const credentials = {
  provider: "aws",
  role_arn: "arn:aws:iam::123456789012:role/windlass-deploy",
  external_id: ids.externalId,
};

const changedAmi = { path: "ami", before: "ami-0f1a", after: "ami-7c2d" };
const replaced = {
  address: "aws_instance.bastion",
  action: "replace" as const,
  reason: "replace_because_cannot_update",
  replaced_by: ["ami"],
  attributes: [
    changedAmi,
    { path: "id", before: "i-0a1b2c", unknown: true },
    { path: "user_data", sensitive: true },
  ],
};

const changedResource = {
  address: "aws_instance.bastion",
  action: "create" as const,
  event: "ended" as const,
  at: at(238),
  elapsed_seconds: 12,
};

const approval = {
  user_id: ids.user,
  email: "grace@example.com",
  decision: "approve" as const,
  comment: "Only the bastion is replaced.",
  at: at(121),
};

export const jobExamples = [
  example(Approval, approval),
  example(ApprovalRule, { when: "destructive", count: 1, by_author: false }),
  example(ApprovalNeed, {
    rule: { when: "destructive", count: 1, by_author: false },
    missing: 1,
    authors: ["ada@example.com"],
    approvers: ["grace@example.com", "joan@example.com"],
    more_approvers: false,
    plan_staleness: null,
  }),
  example(WrittenApprovalRule, { when: "destructive", count: 2 }),
  example(DecideJob, { decision: "approve", comment: approval.comment }),
  example(NotDeployable, {
    code: "plan_is_stale",
    detail: "The configuration was changed after the plan was made, so plan again",
  }),
  example(CreateJob, {
    job_type: "DEPLOY",
    configuration_id: ids.configuration,
    plan_job_id: ids.plan,
  }),
  example(Job, {
    id: ids.job,
    job_type: "DEPLOY",
    status: "SUCCESS",
    configuration_id: ids.configuration,
    spec_id: ids.configuration,
    zone_id: ids.zone,
    cloud_identity_id: ids.identity,
    assigned_worker_id: null,
    worker_id: ids.worker,
    plan_job_id: ids.plan,
    labels: ["region=eu"],
    config_hash: sha256,
    config_snapshot: snapshot,
    execution_metadata: metadata,
    created_by: "ada@example.com",
    changes: { create: 2, update: 1, replace: 0, delete: 0, forget: 0, move: 0, import: 0 },
    error_message: null,
    cancelled_by: null,
    waiting_reason: null,
    waiting_details: null,
    approvals: [approval],
    approval_need: null,
    attempt: 1,
    timeout_seconds: 3600,
    log_complete: true,
    presumed_lost_at: null,
    outcome_unknown: false,
    log_pruned_at: null,
    own_source: false,
    plan_options: null,
    debug: false,
    debug_log_bytes: null,
    created_at: at(120),
    claimed_at: at(121),
    started_at: at(122),
    ended_at: at(240),
    released_at: at(240),
  }),
  example(ExecutionMetadata, metadata),
  example(LogResource, changedResource),
  example(LogChunk, {
    id: 1042,
    job_id: ids.job,
    log_chunk: "aws_instance.bastion: Creation complete after 12s [id=i-0a1b2c]\n",
    stream_type: "STDOUT",
    resource: changedResource,
    created_at: at(239),
  }),
  example(ClaimedJob, {
    job: {
      id: ids.job,
      job_type: "DEPLOY",
      config_snapshot: {
        ...snapshot,
        variables: { region: { value: "eu-central-1" } },
      },
      spec_id: ids.configuration,
      zone_id: ids.zone,
      plan_job_id: ids.plan,
      attempt: 1,
      timeout_seconds: 3600,
      job_token: "wlj_kq3Vx0bqkV1cJm2s8h0yTz3wq5n7r9u1d4f6g8j0a2c",
    },
    cloud_identity: credentials,
  }),
  example(CloudIdentityCredentials, credentials),
  example(ReportStatus, { status: "SUCCESS", execution_metadata: metadata, last_seq: 42 }),
  example(AppendLogs, {
    chunks: [
      { log_chunk: "Initializing the backend...\n", stream_type: "STDOUT", seq: 1 },
      {
        log_chunk: "terraform 1.14.3: plan\n",
        stream_type: "SYSTEM",
        seq: 2,
        step: { name: "plan", event: "started", at: "2026-11-21T10:15:02.120Z" },
      },
    ],
  }),
  example(AppendedLogs, { job_id: ids.job, id: 1042, job_status: "PROCESSING" }),
  example(PlanArtifact, { job_id: ids.plan, size_bytes: 9182, sha256 }),
  example(DebugLog, { job_id: ids.job, size_bytes: 48_213 }),
  example(PlannedAttribute, changedAmi),
  example(PlannedChange, replaced),
  example(PlanSummary, {
    counts: { create: 0, update: 0, replace: 1, delete: 0, forget: 0, move: 0, import: 0 },
    changes: [replaced],
    changes_omitted: 0,
    drift: [],
    drift_omitted: 0,
    outputs: [{ name: "bastion_ip", action: "update", sensitive: false }],
    outputs_omitted: 0,
    checks: [],
    applyable: true,
    complete: true,
  }),
];
