/** docs/limits.md says the limits that the code has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { metadataLimit, outputLimit } from "../common/outputs.ts";
import { secretLinesLimit, shortestSecret } from "../common/redaction/secret-forms.ts";
import { formLimit } from "../control-plane/console/configurations/configuration-form-routes.ts";
import { formFields } from "../control-plane/console/page/form-body.ts";
import { edgeLimit, nodeLimit } from "../control-plane/domain/graph-view.ts";
import { jsonLimits, uploadLimits } from "../control-plane/http/arriving-bodies.ts";
import { leastBytes } from "../control-plane/http/bytes.ts";
import { pendingLimit } from "../control-plane/http/pending-connections.ts";
import { jsonLevels, jsonValues } from "../control-plane/http/json-body.ts";
import { invitationsLimit } from "../control-plane/services/teams/invitations.ts";
import { groupLimits } from "../control-plane/domain/oidc-claims.ts";
import { groupDays, teamsByGroupsLimit } from "../control-plane/services/teams/group-members.ts";
import { teamsPerGroupLimit } from "../control-plane/services/teams/groups.ts";
import { certificatesLimit } from "../control-plane/domain/cloud-identity.ts";
import { trustedLimit } from "../control-plane/services/identities/identities.ts";
import { lifetime, tokensLimit } from "../control-plane/services/issuer/tokens.ts";
import { subjectLimit } from "../protocol/identity-kinds.ts";
import { membersLimit } from "../control-plane/services/teams/membership.ts";
import { teamsLimit } from "../control-plane/services/teams/teams.ts";
import { groupNameLimit, invitationDays, teamGroupsLimit } from "../protocol/limits.ts";
import { accessTokensLimit } from "../control-plane/services/people/access-tokens.ts";
import { drawingsPerUser } from "../control-plane/services/graphs/draw-apart.ts";
import { foundLimit, searchedNames } from "../control-plane/services/search/search.ts";
import { rollbacksPerUser } from "../control-plane/services/states/versions.ts";
import { drawnStateLimit } from "../control-plane/services/graphs/graphs.ts";
import { waitingDeliveriesLimit } from "../control-plane/services/notifications/crowded.ts";
import { votesLimit } from "../control-plane/services/approvals/approvals.ts";
import { waitingLimit } from "../control-plane/services/large-work.ts";
import {
  environmentLimit,
  inlineFileCount,
  inlineFilesLimit,
  variablesLimit,
} from "../protocol/configurations.ts";
import { deployConfigurationLimit } from "../protocol/deploy-configurations.ts";
import { logBodyLimit, logChunksLimit, logTextLimit } from "../protocol/executions.ts";
import { addressLimit } from "../protocol/fields.ts";
import {
  accessTokenDaysLimit,
  approvalCommentLimit,
  approvalCountLimit,
  archiveLimit,
  debugLogLimit,
  formerSecretBytesLimit,
  formerSecretsLimit,
  planArtifactLimit,
  planAttributeCount,
  planGraphCount,
  planGraphLimit,
  planSummaryLimit,
  planValueLimit,
  stateLimit,
  timeoutSecondsDefault,
  waitSecondsLimit,
} from "../protocol/limits.ts";
import { endpoints } from "../protocol/endpoints.ts";
import { outputsLimit } from "../protocol/jobs.ts";
import { problemCodes } from "../protocol/problem.ts";
import { setsBytesLimit } from "../protocol/variable-sets.ts";
import { workerMetadataLimit } from "../protocol/workers.ts";

const page = readFileSync(join(import.meta.dirname, "../docs/limits.md"), "utf8");
const kib = (bytes: number) => `${bytes / 1024} KiB`;
const mib = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
const number = (count: number) => count.toLocaleString("en-US");

test.each([
  [
    "inline files of a configuration, together",
    `${mib(inlineFilesLimit)}, ${number(inlineFileCount)} files`,
  ],
  [
    "its variables, together, as JSON; its environment",
    `${mib(variablesLimit)}; ${mib(environmentLimit)}`,
  ],
  [
    "stored values, with what encryption adds, of the variable sets that are attached to one zone, and to one configuration",
    `${mib(setsBytesLimit)} each`,
  ],
  [
    "requests of one space with configurations and variable sets of more than 64 KiB that wait for their turn at one server",
    number(waitingLimit),
  ],
  [
    "lines of its sensitive values; in a value of more than 64 KiB, eight lines count as one",
    number(secretLinesLimit),
  ],
  [
    "former sensitive values that a runner gets to mask them; lines of those that it masks",
    formerSecretsLimit === secretLinesLimit
      ? `${number(formerSecretsLimit)} each, ${mib(formerSecretBytesLimit)} together`
      : "different",
  ],
  ["nesting of the JSON of any body", `${jsonLevels} levels`],
  [
    "members and entries of the JSON of any body; of the report of a job's end",
    `${number(jsonValues)}; ${number(endpoints.reportStatus.bodyValues!)}`,
  ],
  [
    "teams that a user is a member of by invitation; members of a team",
    `${number(teamsLimit)}; ${number(membersLimit)}`,
  ],
  [
    "groups that a team admits; teams that admit one group; characters of the name of a group",
    `${teamGroupsLimit}; ${teamsPerGroupLimit}; ${groupNameLimit}`,
  ],
  [
    "groups of a person that count; teams of which they make one person a member",
    `${number(groupLimits.count)}; ${teamsByGroupsLimit}`,
  ],
  ["how long groups count without an answer of their provider", `${groupDays} days`],
  [
    "open invitations of a team; how long a link works",
    `${number(invitationsLimit)}; ${invitationDays} days`,
  ],
  ["deliveries that wait for one rule", number(waitingDeliveriesLimit)],
  [
    "access tokens of one space; how long one is valid",
    `${accessTokensLimit}, with those that expired in the last 30 days; ${accessTokenDaysLimit} days`,
  ],
  [
    "people whose approval a configuration requires; the comment of a decision",
    `${approvalCountLimit}; ${number(approvalCommentLimit)} characters`,
  ],
  [
    "the subject of an identity token; how long a token holds; tokens of one job in a minute at one server",
    `${subjectLimit} characters; ${lifetime / 60_000} minutes; ${tokensLimit}`,
  ],
  [
    "configurations that the terraform of a cloud identity names; certificates of its `ca`",
    `${number(trustedLimit)}; ${certificatesLimit}`,
  ],
  [
    "names of one kind (configurations, zones, workers, cloud identities, variable sets) that a search reads; that it shows",
    `${number(searchedNames)}; ${foundLimit}`,
  ],
  ["people whose decision about one job is kept", `${votesLimit}`],
  ["the body of a request that needs no credential", kib(endpoints.refreshTokens.bodyLimit!)],
  ["connections on which no credential was sent yet", number(pendingLimit)],
  [
    "JSON bodies and forms that are arriving, of one user or of the workers of one space; of all together",
    `${mib(jsonLimits.one)}; ${mib(jsonLimits.all)}`,
  ],
  [
    "archives, plans, debug logs and states that are arriving, of one user or of the workers of one space; of all together",
    `${mib(uploadLimits.one)}; ${uploadLimits.all / 1024 ** 3} GiB`,
  ],
  ["how slowly such a body may arrive, after its first minute", `${mib(leastBytes)} in a minute`],
  ["outputs that are kept of a job", number(outputsLimit)],
  [
    "the value of an output, as JSON; the outputs of a job, together",
    `${kib(outputLimit)}; ${mib(metadataLimit)}`,
  ],
  ["an uploaded archive of terraform files", mib(archiveLimit)],
  ["a plan artifact", mib(planArtifactLimit)],
  ["a debug log as gzip; before compression", `${mib(debugLogLimit)}; 64 MiB`],
  ["a state", mib(stateLimit)],
  [
    "a state that is drawn as a graph; nodes, arrows of the graph",
    `${mib(drawnStateLimit)}; ${nodeLimit}, ${number(edgeLimit)}`,
  ],
  ["graphs of one user that the server draws, or that wait to be drawn", `${drawingsPerUser}`],
  ["rollbacks of states of one user that the server makes, or that wait", `${rollbacksPerUser}`],
  [
    "a log post: its body, its chunks, the text of all chunks",
    `${mib(logBodyLimit)}, ${logChunksLimit}, ${mib(logTextLimit)}`,
  ],
  [
    "a plan summary; its attributes of one resource; a value in it",
    `${mib(planSummaryLimit)}; ${planAttributeCount}; ${number(planValueLimit)} characters`,
  ],
  ["dependencies in a plan summary; as JSON", `${number(planGraphCount)}; ${kib(planGraphLimit)}`],
  ["a worker's metadata", kib(workerMetadataLimit)],
  ["addresses in the options of a PLAN, together", number(addressLimit)],
  ["its deploy configuration", `${kib(deployConfigurationLimit)}, ${addressLimit} targets`],
  ["how long a request may wait (`?wait=`)", `${waitSecondsLimit} s`],
  ["a form of the console", `${mib(formLimit)}, ${number(formFields)} fields`],
  ["run time of a job without `timeout_seconds`", `${number(timeoutSecondsDefault)} s`],
])("docs/limits.md has %s: %s", (what, most) => {
  expect(page).toContain(`| ${what} | ${most} | `);
});

test("docs/security-model.md has the length of the shortest secret that is masked", () => {
  const model = readFileSync(join(import.meta.dirname, "../docs/security-model.md"), "utf8");
  expect(model).toContain(`a value of fewer than ${shortestSecret} bytes`);
});

test("docs/limits.md names existing problem codes with their status", () => {
  const named = [...page.matchAll(/(\d{3}) `(\w+)`/g)].map(([, status, code]) => [
    code,
    Number(status),
  ]);
  expect(named.length).toBeGreaterThan(5);
  const codes = new Map<string, number>(
    Object.entries(problemCodes).map(([code, [status]]) => [code, status]),
  );
  expect(named.filter(([code, status]) => codes.get(String(code)) !== status)).toEqual([]);
});
