/** Approvals: which deployments people must approve, and what they have decided. */
import { Type, type Static } from "typebox";
import { about, Nullable, OneOf, Timestamp, Uuid } from "./fields.ts";
import { approvalCommentLimit, approvalCountLimit, approversShown } from "./limits.ts";

/** `destructive`: a plan that deletes or replaces something, or whose summary is incomplete. */
export const ApprovalWhen = OneOf(["always", "destructive"]);
export type ApprovalWhen = Static<typeof ApprovalWhen>;

const count = { minimum: 1, maximum: approvalCountLimit };

const when = about(
  ApprovalWhen,
  "Which deployments. `destructive`: those whose plan deletes or replaces something, or has no summary or a truncated one.",
);
const countText = "How many people must approve.";
const byAuthorText =
  "Whether the users who created the PLAN and the DEPLOY may approve it themselves.";

/** Which deployments of a configuration people must approve. */
export const ApprovalRule = Type.Object({
  when,
  count: about(Type.Integer(count), countText),
  by_author: about(Type.Boolean(), byAuthorText),
});
export type ApprovalRule = Static<typeof ApprovalRule>;

/** In a request, with defaults. */
export const WrittenApprovalRule = Type.Object(
  {
    when,
    count: Type.Optional(Type.Integer({ ...count, default: 1, description: countText })),
    by_author: Type.Optional(Type.Boolean({ default: false, description: byAuthorText })),
  },
  { additionalProperties: false },
);
export type WrittenApprovalRule = Static<typeof WrittenApprovalRule>;

export const shownApproval = Type.Optional(
  about(Nullable(ApprovalRule), "Which deployments people must approve; null: none."),
);
/** The rule in a request about a configuration. */
export const writtenApproval = Type.Optional(
  about(
    Nullable(WrittenApprovalRule),
    "Which deployments people must approve; null: none. Setting or changing it needs the role admin.",
  ),
);

export const ApprovalDecision = OneOf(["approve", "reject"]);
export type ApprovalDecision = Static<typeof ApprovalDecision>;

const Comment = Type.String({ minLength: 1, maxLength: approvalCommentLimit });

/** What one person has decided about a deployment. */
export const Approval = Type.Object({
  user_id: Uuid,
  email: Type.String(),
  decision: ApprovalDecision,
  comment: Nullable(Comment),
  at: Timestamp,
});
export type Approval = Static<typeof Approval>;

export const DecideJob = Type.Object(
  { decision: ApprovalDecision, comment: Type.Optional(Nullable(Comment)) },
  { additionalProperties: false },
);
export type DecideJob = Static<typeof DecideJob>;

/** What a queued deployment needs that the rule of its configuration covers. */
export const ApprovalNeed = Type.Object({
  rule: ApprovalRule,
  missing: about(
    Type.Integer({ minimum: 0 }),
    "How many more people must approve; 0: it may be claimed.",
  ),
  authors: about(
    Type.Array(Type.String()),
    "The addresses of the users who created the PLAN and the DEPLOY, or whose connected account opened the pull request or pushed its head: they may not decide. Empty if the rule permits them.",
  ),
  approvers: about(
    Type.Array(Type.String(), { maxItems: approversShown }),
    "The addresses of users who may approve it and have not. Empty if no approval is missing, or if the job has no plan to approve.",
  ),
  more_approvers: about(Type.Boolean(), "Whether there are more of them."),
  role_arn: Type.Optional(
    about(
      Nullable(Type.String()),
      "The cloud role as which the deployment will run; null: that of its runner.",
    ),
  ),
  plan_staleness: Type.Optional(
    about(
      Nullable(Type.String()),
      "Why its plan can no longer be applied, so that an approved job fails; null if it can.",
    ),
  ),
});
export type ApprovalNeed = Static<typeof ApprovalNeed>;
