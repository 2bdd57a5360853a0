import {
  CloudIdentity,
  CreateCloudIdentity,
  TrustPolicy,
  UpdateCloudIdentity,
} from "../../../protocol/cloud-identities.ts";
import {
  Archive,
  AttachedSet,
  Component,
  ConfigSnapshot,
  Configuration,
  CreateConfiguration,
  CreateZone,
  UpdateConfiguration,
  UpdateZone,
  Zone,
} from "../../../protocol/configurations.ts";
import { Deployed } from "../../../protocol/deployed.ts";
import { Drift } from "../../../protocol/drift.ts";
import { FailedJob } from "../../../protocol/failed-job.ts";
import { StateLock, StateVersion } from "../../../protocol/state-versions.ts";
import {
  CreateVariableSet,
  UpdateVariableSet,
  VariableSet,
} from "../../../protocol/variable-sets.ts";
import { at, example, ids, sha256 } from "./example.ts";

const plain = {
  source: {
    type: "git" as const,
    url: "https://git.example.com/platform/cluster.git",
    ref: "main",
    path: "environments/production",
  },
  engine: "terraform" as const,
  engine_version: "~> 1.14",
  environment: { HELM_DRIVER: "configmap" },
  timeout_seconds: 3600,
};
const variables = { region: { value: "eu-central-1" } };
const components = [
  { name: "cluster_name", type: "string", value: "production-eu", sensitive: false },
  { name: "admin_password", type: "string", sensitive: true },
];

export const snapshot = {
  name: "cluster",
  project_name: "cluster",
  ...plain,
  variables: { ...variables, admin_password: { sensitive: true } },
  backend: "managed" as const,
};

const deployed = {
  serial: 7,
  resources: 12,
  at: at(240),
  job_id: ids.job,
  by: "ada@example.com",
};
const attachedSet = { id: ids.set, name: "aws", attached_to: "zone" as const };

const drift = {
  status: "in_sync" as const,
  since: at(240),
  checked_at: at(240),
  job_id: ids.job,
  resources: 0,
};

const configuration = {
  id: ids.configuration,
  zone_id: ids.zone,
  cloud_identity_id: ids.identity,
  labels: ["region=eu"],
  ...snapshot,
  status: "DEPLOYED" as const,
  error_message: null,
  deployed,
  state_backend: "managed" as const,
  failed_job: null,
  cluster_name: "production-eu",
  cluster_endpoint: "https://production-eu.example.com",
  gitops_url: null,
  components,
  variable_sets: [attachedSet],
  drift,
  approval: { when: "destructive" as const, count: 1, by_author: false },
  created_at: at(0),
  updated_at: at(60),
};

const role_arn = "arn:aws:iam::123456789012:role/windlass-deploy";

export const configurationExamples = [
  example(CreateZone, { name: "production" }),
  example(UpdateZone, { name: "production", team: "platform" }),
  example(Zone, {
    id: ids.zone,
    name: "production",
    specs: [configuration],
    created_at: at(0),
    updated_at: at(0),
  }),
  example(ConfigSnapshot, snapshot),
  example(Configuration, configuration),
  example(Deployed, deployed),
  example(Drift, drift),
  example(FailedJob, {
    id: ids.job,
    job_type: "DEPLOY",
    status: "FAILED",
    error_message: "apply failed (exit code 1): Error: creating the cluster",
    started_at: at(60),
    ended_at: at(240),
  }),
  example(Component, components[0]!),
  example(CreateConfiguration, {
    name: "cluster",
    zone_id: ids.zone,
    cloud_identity_id: ids.identity,
    labels: ["region=eu"],
    ...plain,
    variables: { ...variables, admin_password: { value: "correct horse", sensitive: true } },
  }),
  example(UpdateConfiguration, {
    engine_version: "~> 1.15",
    variables: { region: { value: "eu-west-1" }, admin_password: { sensitive: true } },
  }),
  example(AttachedSet, attachedSet),
  example(VariableSet, {
    id: ids.set,
    name: "shared",
    variables: { account: { value: "123456789012" } },
    environment: { HETZNER_REGION: "eu", REGISTRY_TOKEN: { sensitive: true } },
    zone_ids: [ids.zone],
    configuration_ids: [],
    created_at: at(0),
    updated_at: at(0),
  }),
  example(CreateVariableSet, {
    name: "shared",
    variables: { account: { value: "123456789012" } },
    environment: { HETZNER_REGION: "eu", REGISTRY_TOKEN: "correct horse" },
    zone_ids: [ids.zone],
  }),
  example(UpdateVariableSet, { environment: { HETZNER_REGION: "us", REGISTRY_TOKEN: {} } }),
  example(Archive, { sha256, size_bytes: 18_230 }),
  example(StateVersion, {
    serial: 7,
    lineage: "3e1c2a9d-4b5f-6a7b-8c9d-0e1f2a3b4c5d",
    size_bytes: 20_481,
    md5: "5d41402abc4b2a76b9719d911017c592",
    resources: 12,
    job_id: ids.job,
    created_at: at(240),
  }),
  example(StateLock, { job_id: ids.job, created_at: at(180), held: false }),
  example(CloudIdentity, {
    id: ids.identity,
    name: "deploy",
    provider: "aws",
    role_arn,
    external_id: ids.externalId,
    created_at: at(0),
    updated_at: at(0),
  }),
  example(CreateCloudIdentity, { name: "deploy", provider: "aws", role_arn }),
  example(UpdateCloudIdentity, { role_arn: `${role_arn}-2` }),
  example(TrustPolicy, {
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { AWS: "arn:aws:iam::210987654321:role/runners" },
        Action: "sts:AssumeRole",
        Condition: { StringEquals: { "sts:ExternalId": ids.externalId } },
      },
    ],
  }),
];
