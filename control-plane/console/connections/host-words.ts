/** What people do at each kind of code host: the token to make, and the webhook to paste. */
import type { ConnectionKind } from "../../../protocol/connections.ts";

interface HostWords {
  readonly name: string;
  /** What to make there, and what it must be allowed. */
  readonly credential: string;
  readonly permissions: readonly string[];
  /** Where a webhook is added, and the events to choose. */
  readonly place: string;
  readonly events: string;
}

const github = [
  "Contents: read",
  "Pull requests: read and write",
  "Commit statuses: read and write",
];

export const hostWords: Readonly<Record<ConnectionKind, HostWords>> = {
  github_app: {
    name: "GitHub App",
    credential:
      "Best for GitHub: it acts under its own name, and each runner gets a token that only reads the one repository that it clones.",
    permissions: github,
    place: "the settings of the App, under Webhook",
    events: "Push, Pull request, Merge group, Issue comment",
  },
  github: {
    name: "GitHub token",
    credential:
      "A fine-grained personal access token of a bot account, for the repositories to follow.",
    permissions: [...github, "Webhooks: read and write"],
    place: "Settings, Webhooks of the repository",
    events: "Pushes, Pull requests, Issue comments",
  },
  gitlab: {
    name: "GitLab",
    credential:
      "A project or group access token with the role Maintainer: with Developer, the webhook is pasted by hand.",
    permissions: ["api"],
    place: "Settings, Webhooks of the project",
    events: "Push events, Merge request events, Comments",
  },
  bitbucket: {
    name: "Bitbucket Cloud",
    credential: "A repository, project or workspace access token.",
    permissions: ["Repositories: write", "Pull requests: write", "Webhooks: read and write"],
    place: "Repository settings, Webhooks",
    events: "Push; pull request created, updated, merged, declined, commented",
  },
  forgejo: {
    name: "Forgejo or Gitea",
    credential:
      "An access token of a bot account that is a collaborator of the repositories to follow.",
    permissions: ["user: read", "repository: read and write", "issue: read and write"],
    place: "Settings, Webhooks of the repository",
    events: "Push, Pull request (also synchronized), Issue comment",
  },
};

export const connectionKinds = Object.keys(hostWords) as ConnectionKind[];
