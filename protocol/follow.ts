/** Following a branch of a code host: what a push or a pull request starts. */
import { Type, type Static } from "typebox";
import { about, Nullable, OneOf, StoredName, Uuid } from "./fields.ts";
import { ReviewedPlan } from "./reviewed-plan.ts";

/** Limit of the patterns of one configuration. */
export const triggerPathsLimit = 50;

const BranchName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^[^\\s\\u0000-\\u001f~^:?*\\[\\\\]+$",
  "x-form": "the name of a branch, such as main",
  examples: ["main"],
});

const TriggerPath = Type.String({
  minLength: 1,
  maxLength: 512,
  pattern: "^(?!!)[^\\u0000-\\u001f]+$",
  "x-form": "a pattern such as modules/** in the syntax of .gitignore, without !",
  examples: ["modules/**"],
});

const fields = {
  trigger_paths: about(
    Type.Array(TriggerPath, { maxItems: triggerPathsLimit, uniqueItems: true }),
    "Patterns of files, relative to the repository, whose change starts a plan too. The path of the source and the local modules of the last plan always do.",
  ),
  pull_requests: about(OneOf(["plan", "off"]), "What a pull request onto the branch starts."),
  push: about(OneOf(["plan", "deploy", "off"]), "What a new commit of the branch starts."),
  comment: about(
    OneOf(["changes", "always", "off"]),
    "When the pull request gets a comment. `changes`: for plans with changes, and for failures.",
  ),
  forks: about(
    OneOf(["off", "approved"]),
    "Whether a pull request of a fork is planned, once a person has approved its commit.",
  ),
  values: about(
    OneOf(["none", "plain", "all"]),
    "Which variables, environment and variable sets a pull request's PLAN gets. `plain`: those that are not sensitive.",
  ),
  commands: about(
    Type.Boolean(),
    "Whether comments on a pull request may start jobs: `windlass plan`, and `windlass deploy COMMIT`.",
  ),
};

export const followDefaults = {
  trigger_paths: [] as string[],
  pull_requests: "plan",
  push: "plan",
  comment: "changes",
  forks: "off",
  values: "plain",
  commands: false,
} as const;

/** In a request: what is missing has its default; the branch is then the host's default branch. */
export const WriteFollow = Type.Object(
  {
    connection_id: Uuid,
    branch: Type.Optional(BranchName),
    ...Type.Partial(Type.Object(fields)).properties,
  },
  { additionalProperties: false },
);
export type WriteFollow = Static<typeof WriteFollow>;

export const Follow = Type.Object({
  connection_id: Uuid,
  branch: Type.String(),
  ...fields,
  repository: about(Type.String(), "The full name of the repository at the host."),
  seen_commit: about(
    Nullable(Type.String()),
    "The newest commit of the branch that the server has seen; null before the first look.",
  ),
  warnings: about(
    Type.Array(Type.String()),
    "What a pull request's PLAN will lack, such as a required variable that is withheld.",
  ),
});
export type Follow = Static<typeof Follow>;

/** The fields of a configuration, in requests and responses. */
export const writtenFollow = Type.Optional(
  about(
    Nullable(WriteFollow),
    "Follow a branch of a connection's repository, which must be the git source's; replaces it whole, null ends it. `values: all`, `forks` and `commands` need the role admin.",
  ),
);

export const shownFollow = Type.Optional(
  about(Nullable(Follow), "The branch of a code host that it follows; null: none."),
);

/** The commit that a job of a connection runs. */
export const Change = Type.Object({
  connection_id: Uuid,
  repository: Type.String(),
  branch: about(Type.String(), "The followed branch."),
  commit: Type.String(),
  base_commit: Type.Optional(
    about(Type.String(), "The commit of the followed branch that `commit` is merged into."),
  ),
  pull_request: about(
    Nullable(
      Type.Object({
        number: Type.Integer(),
        title: Type.String(),
        author: Type.String(),
        url: Type.String(),
        is_fork: Type.Boolean(),
      }),
    ),
    "The pull request that it belongs to; of a push, the merged one where the host tells it.",
  ),
  url: about(Type.String(), "The commit or the pull request at the host."),
});
export type Change = Static<typeof Change>;

export const changeFields = {
  change: Type.Optional(
    about(Nullable(Change), "The commit that it runs; null unless a connection started it."),
  ),
  change_state: Type.Optional(
    about(
      Nullable(Type.Union([OneOf(["posted", "pending"]), Type.Object({ error: Type.String() })])),
      "Whether the host shows how it stands: `posted`, `pending`, or why not.",
    ),
  ),
  reviewed_plan: Type.Optional(
    about(
      Nullable(ReviewedPlan),
      "Of the PLAN and the DEPLOY after a merge: the plan that was reviewed in the pull request, and how this one differs; null if none was. Absent in lists.",
    ),
  ),
  withheld: Type.Optional(
    Type.Array(StoredName, {
      description: "The names of the values that a pull request's PLAN did not get.",
    }),
  ),
};
