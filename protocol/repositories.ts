/** The user's repositories at a code host. */
import { Type, type Static } from "typebox";
import { endpoint } from "./endpoint.ts";
import { about, NextCursor, Nullable, Paging } from "./fields.ts";

export const Repository = Type.Object({
  id: Type.String(),
  full_name: Type.String(),
  clone_url: Type.String(),
  default_branch: about(Nullable(Type.String()), "Null for a repository without a commit."),
  private: Type.Boolean(),
});
export type Repository = Static<typeof Repository>;

/** A page has at most `limit` and at most 100 entries, the page size of the providers. */
export const RepositoryList = Type.Object({
  repositories: Type.Array(Repository),
  next_cursor: NextCursor,
});
export type RepositoryList = Static<typeof RepositoryList>;

export const repositoryEndpoints = {
  listRepositories: endpoint("GET /api/cli/repositories/{git_provider}", {
    summary: "List your repositories at github, gitlab or bitbucket",
    description:
      "Uses the token of the user's account at this provider. At GitHub, the user must have connected the repositories in the settings.",
    permission: "account",
    params: {
      git_provider: Type.String({
        maxLength: 40,
        description: "`github`, `gitlab` or `bitbucket`.",
        examples: ["github"],
      }),
    },
    query: Paging,
    answer: RepositoryList,
    refusals: ["provider_not_connected", "provider_token_rejected", "provider_unavailable"],
  }),
};
