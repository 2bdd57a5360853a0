/** The tags of the document: groups of endpoints with an introduction for each. */
import { accessTokenEndpoints } from "../../protocol/access-tokens.ts";
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
import { teamEndpoints } from "../../protocol/teams.ts";
import { variableSetEndpoints } from "../../protocol/variable-sets.ts";
import { workerEndpoints } from "../../protocol/worker-endpoints.ts";

interface Tag {
  readonly name: string;
  readonly description: string;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
}

/** In the order in which a newcomer needs them. A test checks that every endpoint has a tag. */
export const tags: readonly Tag[] = [
  {
    name: "Sign-in",
    description:
      "Users sign in with a browser. A client generates a device code, the user approves it in the browser, and the client exchanges it for tokens.",
    endpoints: { ...signInEndpoints, ...authEndpoints, ...loginEndpoints },
  },
  {
    name: "Access tokens",
    description:
      "Credentials of pipelines, which are sent like the access token of a login. A token has a role: a viewer reads; a planner also queues plans; a deployer also deploys, and changes zones, configurations and states; an admin also manages workers and cloud identities, and deletes.",
    endpoints: accessTokenEndpoints,
  },
  {
    name: "Teams",
    description:
      "A team is a space that several users share, each with a role. Without the header `Windlass-Team` a request acts in the user's personal space, and an access token in the space in which it was created. The header names a team by its slug: lists, new things and names then belong to that team. What a request names by id is found in every space of which the caller is a member.",
    endpoints: teamEndpoints,
  },
  {
    name: "Configurations",
    description:
      "A zone groups configurations. A configuration describes where its Terraform files come from, which variables they get, and where the state is kept.",
    endpoints: configurationEndpoints,
  },
  {
    name: "Variable sets",
    description:
      "Variables and environment that several configurations share. A set is attached to configurations or to whole zones. A configuration's own value wins, then a set attached to it, then a set attached to its zone; of two sets attached to the same thing, the one whose name sorts first. A job gets the values that are set when it is created.",
    endpoints: variableSetEndpoints,
  },
  {
    name: "Cloud identities",
    description:
      "The role that a configuration's jobs assume in a cloud account. No key is stored: the role trusts the runners, with this external id.",
    endpoints: cloudIdentityEndpoints,
  },
  {
    name: "Repositories",
    description: "The repositories of the user's account at a code host, to use as sources.",
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
      "A worker (runner) registers and sends heartbeats. A user can drain it, replace its token or remove it.",
    endpoints: workerEndpoints,
  },
  {
    name: "Executions",
    description:
      "The reports of a worker about the job it holds. `X-Job-Attempt` names the attempt; a report of another attempt is refused.",
    endpoints: executionEndpoints,
  },
  {
    name: "Terraform state backend",
    description:
      "Terraform's own `http` backend. It locks and unlocks with the methods `LOCK` and `UNLOCK` on the same path, which OpenAPI cannot list: the body is terraform's lock document (JSON with `ID`, at most 64 KiB). The response is 200, or 423 with the lock document of the current holder. Repeating the `ID` of the holder succeeds. An `UNLOCK` without a body is refused.",
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
      "Who did what to what, when, and from where. Entries are never changed or removed.",
    endpoints: auditEndpoints,
  },
  {
    name: "Operations",
    description: "For probes and monitoring. No credential is needed.",
    endpoints: operationEndpoints,
  },
];
