/** Every endpoint by the name that server, client and tests use. */
import { accessTokenEndpoints } from "./access-tokens.ts";
import { auditEndpoints } from "./audit.ts";
import { authEndpoints } from "./auth.ts";
import { cloudIdentityEndpoints } from "./cloud-identities.ts";
import { configurationEndpoints } from "./configuration-endpoints.ts";
import { executionEndpoints } from "./execution-endpoints.ts";
import { jobEndpoints } from "./job-endpoints.ts";
import { loginEndpoints } from "./logins.ts";
import { planSummaryEndpoints } from "./plan-summary.ts";
import { operationEndpoints } from "./operations.ts";
import { releaseEndpoints } from "./releases.ts";
import { repositoryEndpoints } from "./repositories.ts";
import { signInEndpoints } from "./sign-in.ts";
import { stateVersionEndpoints } from "./state-versions.ts";
import { stateEndpoints } from "./state.ts";
import { teamEndpoints } from "./teams.ts";
import { variableSetEndpoints } from "./variable-sets.ts";
import { workerEndpoints } from "./worker-endpoints.ts";

export const endpoints = {
  ...signInEndpoints,
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
  ...accessTokenEndpoints,
  ...teamEndpoints,
  ...stateVersionEndpoints,
  ...cloudIdentityEndpoints,
  ...variableSetEndpoints,
  ...operationEndpoints,
  ...auditEndpoints,
};
