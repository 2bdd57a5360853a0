/** Every endpoint by the name that server, client and tests use. */
import type { Endpoint } from "./endpoint.ts";
import { accessTokenEndpoints } from "./access-tokens.ts";
import { auditEndpoints } from "./audit.ts";
import { authEndpoints } from "./auth.ts";
import { cloudIdentityEndpoints } from "./cloud-identities.ts";
import { connectionEndpoints, eventEndpoints } from "./connections.ts";
import { configurationEndpoints } from "./configuration-endpoints.ts";
import { executionEndpoints } from "./execution-endpoints.ts";
import { identityTokenEndpoints } from "./identity-tokens.ts";
import { issuerEndpoints } from "./issuer.ts";
import { jobEndpoints } from "./job-endpoints.ts";
import { loginEndpoints } from "./logins.ts";
import { notificationEndpoints } from "./notifications.ts";
import { operationEndpoints } from "./operations.ts";
import { planSummaryEndpoints } from "./plan-summary.ts";
import { pullRequestEndpoints } from "./pull-requests.ts";
import { releaseEndpoints } from "./releases.ts";
import { repositoryEndpoints } from "./repositories.ts";
import { signInEndpoints } from "./sign-in.ts";
import { stateVersionEndpoints } from "./state-versions.ts";
import { stateEndpoints } from "./state.ts";
import { scheduleEndpoints } from "./schedules.ts";
import { teamEndpoints } from "./teams.ts";
import { variableSetEndpoints } from "./variable-sets.ts";
import { workerEndpoints } from "./worker-endpoints.ts";

const tag = <E extends Readonly<Record<string, Endpoint>>>(
  name: string,
  description: string,
  endpoints: E,
) => ({ name, description, endpoints });

/** In the order in which a newcomer needs them. */
export const tags = [
  tag(
    "Sign-in",
    "Users sign in with a browser. A client generates a device code, the user approves it in the browser, and the client exchanges it for tokens.",
    { ...signInEndpoints, ...authEndpoints, ...loginEndpoints },
  ),
  tag(
    "Access tokens",
    "Credentials of pipelines, which are sent like the access token of a login. A token has a role: a viewer reads; a planner also queues plans; a deployer also deploys, and changes zones, configurations and states; an admin also manages workers and cloud identities, and deletes.",
    accessTokenEndpoints,
  ),
  tag(
    "Teams",
    "A team is a space that several users share, each with a role. Without the header `Windlass-Team` a request acts in the user's personal space, and an access token in the space in which it was created. The header names a team by its slug: lists, new things and names then belong to that team. What a request names by id is found in every space of which the caller is a member.",
    teamEndpoints,
  ),
  tag(
    "Configurations",
    "A zone groups configurations. A configuration describes where its Terraform files come from, which variables they get, and where the state is kept.",
    configurationEndpoints,
  ),
  tag(
    "Variable sets",
    "Variables and environment that several configurations share. A set is attached to configurations or to whole zones. A configuration's own value wins, then a set attached to it, then a set attached to its zone; of two sets attached to the same thing, the one whose name sorts first. A job gets the values that are set when it is created.",
    variableSetEndpoints,
  ),
  tag(
    "Cloud identities",
    "What a configuration's jobs act as in a cloud or at Vault. No key is stored: with `aws` a role trusts the runners, with an external id; with the other providers the cloud trusts tokens that this server makes for each job.",
    cloudIdentityEndpoints,
  ),
  tag(
    "Repositories",
    "The repositories of the user's account at a code host, to use as sources.",
    repositoryEndpoints,
  ),
  tag(
    "Connections",
    "A connection to a code host: with it configurations follow branches, and pull requests show their plans.",
    { ...connectionEndpoints, ...pullRequestEndpoints, ...eventEndpoints },
  ),
  tag(
    "Notifications",
    "A rule sends events of a space to a webhook, to Slack or Teams, or by e-mail.",
    notificationEndpoints,
  ),
  tag(
    "Jobs",
    "A job plans, deploys or destroys one configuration, or tears down a worker. It is QUEUED, then PROCESSING, and ends as SUCCESS, FAILED or CANCELLED.",
    { ...jobEndpoints, ...planSummaryEndpoints },
  ),
  tag(
    "Schedules",
    "A schedule queues jobs at times of the clock: checks for drift, plans, deployments or destructions of a configuration, or of each configuration of a zone.",
    scheduleEndpoints,
  ),
  tag(
    "State",
    "Every version of the state that the control plane keeps for a configuration whose `backend` is `managed`.",
    stateVersionEndpoints,
  ),
  tag(
    "Workers",
    "A worker (runner) registers and sends heartbeats. A user can drain it, replace its token or remove it.",
    workerEndpoints,
  ),
  tag(
    "Executions",
    "The reports of a worker about the job it holds. `X-Job-Attempt` names the attempt; a report of another attempt is refused.",
    { ...executionEndpoints, ...identityTokenEndpoints },
  ),
  tag(
    "Issuer",
    "What clouds and Vault read to check the tokens of jobs. Anyone may.",
    issuerEndpoints,
  ),
  tag(
    "Terraform state backend",
    "Terraform's own `http` backend. It locks and unlocks with the methods `LOCK` and `UNLOCK` on the same path, which OpenAPI cannot list: the body is terraform's lock document (JSON with `ID`, at most 64 KiB). The response is 200, or 423 with the lock document of the current holder. Repeating the `ID` of the holder succeeds. An `UNLOCK` without a body is refused.",
    stateEndpoints,
  ),
  tag(
    "Pipelines",
    "For automated pipelines with the release secret: runner releases, and runners that serve every user.",
    releaseEndpoints,
  ),
  tag(
    "Audit log",
    "Who did what to what, when, and from where. Entries are never changed or removed.",
    auditEndpoints,
  ),
  tag("Operations", "For probes and monitoring. No credential is needed.", operationEndpoints),
] as const;

type All<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer A) => void
  ? { readonly [N in keyof A]: A[N] }
  : never;

export type Endpoints = All<(typeof tags)[number]["endpoints"]>;

export type EndpointName = keyof Endpoints;

export const endpoints: Endpoints = Object.assign({}, ...tags.map((one) => one.endpoints));
