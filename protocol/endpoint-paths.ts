/**
 * Where each endpoint is, without its schemas: a client that only calls starts twice as fast without them. The compiler holds it to
 * endpoints.ts: a name that is missing there or here, or another path, does not compile.
 */
import type { endpoints } from "./endpoints.ts";

type Endpoints = typeof endpoints;

export const endpointPaths: {
  readonly [N in keyof Endpoints]: Pick<Endpoints[N], "method" | "path">;
} = {
  startSignIn: { method: "GET", path: "/api/auth/login/{provider}" },
  finishSignIn: { method: "GET", path: "/api/auth/callback" },
  generateDeviceLogin: { method: "POST", path: "/api/auth/cli/generate" },
  exchangeDeviceLogin: { method: "POST", path: "/api/auth/cli/exchange" },
  refreshTokens: { method: "POST", path: "/api/auth/cli/refresh" },
  listZones: { method: "GET", path: "/api/cli/zones" },
  createZone: { method: "POST", path: "/api/cli/zones" },
  getZone: { method: "GET", path: "/api/cli/zones/{id}" },
  updateZone: { method: "PATCH", path: "/api/cli/zones/{id}" },
  deleteZone: { method: "DELETE", path: "/api/cli/zones/{id}" },
  listConfigurations: { method: "GET", path: "/api/cli/configurations" },
  createConfiguration: { method: "POST", path: "/api/cli/configurations" },
  getConfiguration: { method: "GET", path: "/api/cli/configurations/{name}" },
  updateConfiguration: { method: "PATCH", path: "/api/cli/configurations/{name}" },
  deleteConfiguration: { method: "DELETE", path: "/api/cli/configurations/{name}" },
  getConfigurationByProjectName: {
    method: "GET",
    path: "/api/cli/configurations/by-project-name/{project_name}",
  },
  uploadArchive: { method: "POST", path: "/api/cli/archives" },
  createJob: { method: "POST", path: "/api/jobs" },
  listJobs: { method: "GET", path: "/api/jobs" },
  getJob: { method: "GET", path: "/api/cli/jobs/{id}" },
  getJobLogs: { method: "GET", path: "/api/cli/jobs/{id}/logs" },
  streamJobLogs: { method: "GET", path: "/api/jobs/{id}/logs/stream" },
  cancelJob: { method: "POST", path: "/api/cli/jobs/{id}/cancel" },
  retryJob: { method: "POST", path: "/api/cli/jobs/{id}/retry" },
  claimJob: { method: "POST", path: "/api/jobs/claim" },
  reportStatus: { method: "PUT", path: "/api/jobs/{id}/status" },
  appendLogs: { method: "POST", path: "/api/jobs/{id}/logs" },
  readLogs: { method: "GET", path: "/api/jobs/{id}/logs" },
  uploadPlanArtifact: { method: "POST", path: "/api/jobs/{id}/plan-artifact" },
  downloadPlanArtifact: { method: "GET", path: "/api/jobs/{id}/plan-artifact" },
  downloadSource: { method: "GET", path: "/api/jobs/{id}/source" },
  getPlanSummary: { method: "GET", path: "/api/cli/jobs/{id}/plan" },
  registerWorker: { method: "POST", path: "/api/workers/register" },
  proveWorker: { method: "POST", path: "/api/workers/proof" },
  heartbeat: { method: "POST", path: "/api/workers/heartbeat" },
  readWorker: { method: "GET", path: "/api/workers/{id}" },
  updateWorkerMetadata: { method: "POST", path: "/api/workers/{id}/metadata" },
  listWorkers: { method: "GET", path: "/api/cli/workers" },
  createWorker: { method: "POST", path: "/api/cli/workers" },
  getWorker: { method: "GET", path: "/api/cli/workers/{id}" },
  updateWorker: { method: "PATCH", path: "/api/cli/workers/{id}" },
  drainWorker: { method: "POST", path: "/api/cli/workers/{id}/drain" },
  undrainWorker: { method: "DELETE", path: "/api/cli/workers/{id}/drain" },
  rotateWorkerToken: { method: "POST", path: "/api/cli/workers/{id}/rotate-token" },
  deleteWorker: { method: "DELETE", path: "/api/cli/workers/{id}" },
  createRegistrationToken: { method: "POST", path: "/api/cli/registration-tokens" },
  readState: { method: "GET", path: "/api/state/{spec_id}" },
  writeState: { method: "POST", path: "/api/state/{spec_id}" },
  lockState: { method: "LOCK", path: "/api/state/{spec_id}" },
  unlockState: { method: "UNLOCK", path: "/api/state/{spec_id}" },
  listRepositories: { method: "GET", path: "/api/cli/repositories/{git_provider}" },
  publishRelease: { method: "POST", path: "/api/releases/worker" },
  registerCloudWorker: { method: "POST", path: "/api/runners/register" },
  listLogins: { method: "GET", path: "/api/cli/logins" },
  revokeLogin: { method: "DELETE", path: "/api/cli/logins/{id}" },
  listStateVersions: { method: "GET", path: "/api/cli/configurations/{name}/state/versions" },
  downloadStateVersion: {
    method: "GET",
    path: "/api/cli/configurations/{name}/state/versions/{serial}",
  },
  rollBackState: {
    method: "POST",
    path: "/api/cli/configurations/{name}/state/versions/{serial}/rollback",
  },
  breakStateLock: { method: "DELETE", path: "/api/cli/configurations/{name}/state/lock" },
  listCloudIdentities: { method: "GET", path: "/api/cli/cloud-identities" },
  createCloudIdentity: { method: "POST", path: "/api/cli/cloud-identities" },
  getCloudIdentity: { method: "GET", path: "/api/cli/cloud-identities/{id}" },
  updateCloudIdentity: { method: "PATCH", path: "/api/cli/cloud-identities/{id}" },
  deleteCloudIdentity: { method: "DELETE", path: "/api/cli/cloud-identities/{id}" },
  getTrustPolicy: { method: "GET", path: "/api/cli/cloud-identities/{id}/trust-policy" },
  readHealth: { method: "GET", path: "/healthz" },
  readReadiness: { method: "GET", path: "/readyz" },
  readMetrics: { method: "GET", path: "/metrics" },
  readOpenapi: { method: "GET", path: "/openapi.json" },
  listAuditEntries: { method: "GET", path: "/api/cli/audit" },
};

/** The endpoints for the transport, which needs no more of them than this; what else they have is known to the compiler. */
export const calledEndpoints = endpointPaths as Endpoints;
