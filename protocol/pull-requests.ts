/** Pull requests onto followed branches. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import {
  about,
  NextCursor,
  Nullable,
  OneOf,
  Paging,
  Sha256,
  StoredName,
  Timestamp,
  Uuid,
} from "./fields.ts";
import { JobStatus } from "./jobs.ts";
import { failedChecks, PlanCounts } from "./plan-counts.ts";

export const pullRequestStates = ["open", "merged", "closed"] as const;
export const PullRequestState = OneOf(pullRequestStates);
export type PullRequestState = Static<typeof PullRequestState>;

const Head = Type.Object({ branch: Type.String(), commit: Nullable(Type.String()) });

export const PullRequest = Type.Object({
  id: Uuid,
  connection_id: Uuid,
  repository: Type.String(),
  number: Type.Integer(),
  title: Type.String(),
  author: Type.String(),
  url: Type.String(),
  state: PullRequestState,
  head: Head,
  base: Head,
  is_fork: Type.Boolean(),
  needs_approval: about(
    Type.Boolean(),
    "Whether it comes from a fork, and its commit waits for a person who lets it be planned.",
  ),
  skipped: about(Nullable(Type.String()), "Why it starts nothing; null if it does."),
  jobs: Type.Array(
    Type.Object({
      configuration: about(StoredName, "The name of the configuration."),
      job_id: Uuid,
      status: JobStatus,
      changes: Nullable(PlanCounts),
      failed_checks: failedChecks(
        "How many checks fail in its plan; null while this is not known.",
      ),
      digest: about(Nullable(Sha256), "Of its plan; null while there is none."),
    }),
    { description: "The newest PLAN of each configuration for its newest commit." },
  ),
  updated_at: Timestamp,
});
export type PullRequest = Static<typeof PullRequest>;

const params = { id: about(Uuid, "The pull request.") };

export const pullRequestEndpoints = {
  listPullRequests: endpoint("GET /api/cli/pull-requests", {
    summary: "List pull requests onto followed branches, newest first",
    permission: "read",
    query: {
      ...Paging,
      configuration: Type.Optional(
        Type.String({ maxLength: 255, description: "The name or the id of a configuration." }),
      ),
      repository: Type.Optional(
        Type.String({ maxLength: 512, description: "The full name of a repository." }),
      ),
      state: Type.Optional(about(PullRequestState, "Default: all.")),
    },
    answer: Type.Object({ pull_requests: Type.Array(PullRequest), next_cursor: NextCursor }),
    refusals: ["not_found"],
  }),
  approvePullRequest: endpoint("POST /api/cli/pull-requests/{id}/approve", {
    summary: "Let a commit of a fork be planned",
    description:
      "Its plan runs code of its author in your network. A newer commit needs another approval.",
    permission: "approve",
    params,
    body: Type.Object(
      {
        commit: Type.String({
          pattern: "^[0-9a-f]{40,64}$",
          maxLength: 64,
          "x-form": "the whole commit",
          examples: ["9fceb02d0ae598e95dc970b74767f19372d61af8"],
        }),
      },
      { additionalProperties: false },
    ),
    answer: PullRequest,
    refusals: ["changed_meanwhile"],
  }),
};
