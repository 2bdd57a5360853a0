/** Every endpoint of the wire under the one name that server, client and tests use for it. */
import { authEndpoints } from "./auth.ts";
import { cloudIdentityEndpoints } from "./cloud-identities.ts";
import { configurationEndpoints } from "./configuration-endpoints.ts";
import { executionEndpoints } from "./executions.ts";
import { jobEndpoints } from "./jobs.ts";
import { loginEndpoints } from "./logins.ts";
import { planSummaryEndpoints } from "./plan-summary.ts";
import { releaseEndpoints } from "./releases.ts";
import { repositoryEndpoints } from "./repositories.ts";
import { stateVersionEndpoints } from "./state-versions.ts";
import { stateEndpoints } from "./state.ts";
import { workerEndpoints } from "./workers.ts";

export const endpoints = {
  ...authEndpoints,
  ...configurationEndpoints,
  ...jobEndpoints,
  ...executionEndpoints,
  ...planSummaryEndpoints,
  ...workerEndpoints,
  ...stateEndpoints,
  ...repositoryEndpoints,
  ...releaseEndpoints,
  ...loginEndpoints,
  ...stateVersionEndpoints,
  ...cloudIdentityEndpoints,
};
