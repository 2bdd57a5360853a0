/** The chapters of the document: which endpoints belong together, and what a newcomer should know of them. */
import { auditEndpoints } from "../../protocol/audit.ts";
import { authEndpoints } from "../../protocol/auth.ts";
import { cloudIdentityEndpoints } from "../../protocol/cloud-identities.ts";
import { configurationEndpoints } from "../../protocol/configuration-endpoints.ts";
import type { Endpoint } from "../../protocol/endpoint.ts";
import { executionEndpoints } from "../../protocol/execution-endpoints.ts";
import { jobEndpoints } from "../../protocol/job-endpoints.ts";
import { loginEndpoints } from "../../protocol/logins.ts";
import { operationEndpoints } from "../../protocol/operations.ts";
import { planSummaryEndpoints } from "../../protocol/plan-summary.ts";
import { releaseEndpoints } from "../../protocol/releases.ts";
import { repositoryEndpoints } from "../../protocol/repositories.ts";
import { signInEndpoints } from "../../protocol/sign-in.ts";
import { stateVersionEndpoints } from "../../protocol/state-versions.ts";
import { stateEndpoints } from "../../protocol/state.ts";
import { workerEndpoints } from "../../protocol/worker-endpoints.ts";

interface Tag {
  readonly name: string;
  readonly description: string;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
}

/** In the order in which a newcomer needs them. An endpoint that is in none is missing in the document, which a test notices. */
export const tags: readonly Tag[] = [
  {
    name: "Sign-in",
    description:
      "People sign in with a browser. A command line shows a device code there, is approved, and exchanges the code for tokens.",
    endpoints: { ...signInEndpoints, ...authEndpoints, ...loginEndpoints },
  },
  {
    name: "Configurations",
    description:
      "A zone groups configurations. A configuration says where its terraform files come from, with which variables they run, and where its state is.",
    endpoints: configurationEndpoints,
  },
  {
    name: "Cloud identities",
    description:
      "The role that a configuration's jobs take on in a cloud account. No key is stored: the role trusts the runners, for this external id.",
    endpoints: cloudIdentityEndpoints,
  },
  {
    name: "Repositories",
    description: "What a person's account at a code host offers as a source.",
    endpoints: repositoryEndpoints,
  },
  {
    name: "Jobs",
    description:
      "A job plans, deploys or destroys one configuration, or tears down a worker. It is QUEUED, then PROCESSING, and ends as SUCCESS, FAILED or CANCELLED.",
    endpoints: { ...jobEndpoints, ...planSummaryEndpoints },
  },
  {
    name: "State",
    description:
      "Every version of the state that the control plane keeps for a configuration whose `backend` is `managed`.",
    endpoints: stateVersionEndpoints,
  },
  {
    name: "Workers",
    description:
      "A worker (runner) registers, sends heartbeats, and is drained, given a new token or removed by a person.",
    endpoints: workerEndpoints,
  },
  {
    name: "Executions",
    description:
      "What a worker says of the job it holds. `X-Job-Attempt` says of which handing-out; a report of another one is refused.",
    endpoints: executionEndpoints,
  },
  {
    name: "Terraform state backend",
    description:
      "Terraform's own `http` backend. It locks and unlocks with the methods `LOCK` and `UNLOCK` on the same path, which OpenAPI cannot list: the body is terraform's lock document (JSON with `ID`, at most 64 KiB), the answer 200, or 423 with the lock document of whoever holds it. The holder's own `ID` again is success; an `UNLOCK` without a body is refused.",
    endpoints: stateEndpoints,
  },
  {
    name: "Pipelines",
    description:
      "For automated pipelines with the release secret: runner releases, and runners that serve every user.",
    endpoints: releaseEndpoints,
  },
  {
    name: "Audit log",
    description:
      "Who did what to what, when, and from where. Entries are only added, and kept for ever.",
    endpoints: auditEndpoints,
  },
  {
    name: "Operations",
    description: "For probes and monitoring; none needs a credential.",
    endpoints: operationEndpoints,
  },
];
