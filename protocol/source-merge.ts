/** The head of a pull request merged into its base, as a runner plans it. */
import { Type, type Static } from "typebox";
import { about, Nullable } from "./fields.ts";

const Commit = Type.String({
  pattern: "^([0-9a-f]{40}|[0-9a-f]{64})$",
  "x-form": "a commit: 40 or 64 hexadecimal digits in lower case",
});

/** How to merge the head, `config_snapshot.source.ref`, into its base. */
export const SourceMerge = Type.Object({
  base_branch: Type.String({ minLength: 1, maxLength: 255 }),
  base_commit: about(Nullable(Commit), "Null: the tip of the branch."),
  head_ref: Type.Optional(
    about(
      Type.String({ minLength: 1, maxLength: 255 }),
      "How to fetch the head from a host that does not serve commits, such as `refs/pull/12/head`.",
    ),
  ),
});
export type SourceMerge = Static<typeof SourceMerge>;

export const MergedCommits = about(
  Type.Object({
    base_commit: Commit,
    head_commit: Commit,
    is_head_only: Type.Optional(Type.Boolean()),
    is_current: Type.Optional(Type.Boolean()),
  }),
  "Of a PLAN of a pull request: what was planned. `is_head_only`: no common commit was found within the runner's limits, so the head was planned without its base. `is_current`: the head has all commits of its base, so that it was planned unchanged, and a DEPLOY can apply the plan.",
);
export type MergedCommits = Static<typeof MergedCommits>;
