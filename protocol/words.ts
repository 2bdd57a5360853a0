/** Texts for values of the wire, shared by the command line and the console. */
import type { Drift } from "./drift.ts";
import type { Approval, ApprovalDecision, ApprovalNeed, ApprovalRule } from "./approvals.ts";
import type { Configuration } from "./configurations.ts";
import type { FailedJob } from "./failed-job.ts";
import type { FailureKind } from "./job-failure.ts";
import type { Job, JobType, ResourceOutcome, ResourceProgress } from "./jobs.ts";
import type { JobWarning } from "./job-warnings.ts";
import type { PlanCounts } from "./plan-counts.ts";
import type { PlanOptions } from "./plan-options.ts";

/** Describes an approval rule in short, such as `destructive, 2 people`. */
export const approvalWords = (rule: ApprovalRule | null): string =>
  rule === null
    ? "none"
    : `${rule.when}, ${rule.count} ${rule.count === 1 ? "person" : "people"}${rule.by_author ? ", authors too" : ""}`;

/** Returns `1 approval by a deployer`. */
export const approvalsText = (count: number): string =>
  count === 1 ? "1 approval by a deployer" : `${count} approvals by deployers`;

/** Says which deployments need whose approval, as a sentence. */
export const approvalRuleText = ({ when, count, by_author }: ApprovalRule): string =>
  `${when === "always" ? "Every deployment" : "A deployment that deletes or replaces something"} needs ${approvalsText(count)}${by_author ? "; an author may approve" : " other than its authors"}.`;

/** Says as whom a deployment that people approve will run, and where. */
export const approvedPlaceText = (
  { role_arn }: Pick<ApprovalNeed, "role_arn">,
  labels: readonly string[],
): string =>
  `${role_arn ? `Runs as ${role_arn}` : "Runs with the cloud credentials of its runner"}${labels.length > 0 ? `, on a runner with ${labels.join(", ")}` : ""}.`;

/** Null if there is none, or while another one runs. It may be half done. */
export const failedApply = ({
  status,
  failed_job,
}: Pick<Configuration, "status" | "failed_job">): FailedJob | null =>
  failed_job && failed_job.job_type !== "PLAN" && !isChanging(status) ? failed_job : null;

/**
 * Null if they are not older than the state. A failed apply leaves them, and a state that a user
 * stores brings its own.
 */
export function outputsNote({
  deployed,
  ...standing
}: Pick<Configuration, "status" | "failed_job" | "deployed">): string | null {
  const failed = failedApply(standing);
  const isStoredByUser = deployed !== null && deployed.serial !== null && deployed.job_id === null;
  return failed === null || failed.started_at === null || isStoredByUser
    ? null
    : `Of the last deployment that succeeded. The last ${failed.job_type} did not: if it had changed something by then, the state may have others.`;
}

/** What lists call a deployment that waits for approvals. */
export const waitingForApproval = "waiting for approval";

/** What a person has done with a deployment. */
export const decisionWords: Readonly<Record<ApprovalDecision, string>> = {
  approve: "approved",
  reject: "rejected",
};

/** Says how many approvals of a deployment do not count, as a sentence; null: all do. */
export function idleApprovalsText(
  { rule, missing }: Pick<ApprovalNeed, "rule" | "missing">,
  approvals: readonly Pick<Approval, "decision">[],
): string | null {
  const given = approvals.filter(({ decision }) => decision === "approve").length;
  const idle = given - (rule.count - missing);
  if (missing === 0 || idle <= 0) return null;
  const many = idle === 1 ? "1 approval does" : `${idle} approvals do`;
  return `${many} not count: an approval counts while the rule and the role of the person permit it.`;
}

/** Says who can give the approvals that a deployment waits for, as a sentence. */
export function approversText({
  rule,
  missing,
  approvers,
  more_approvers,
}: Pick<ApprovalNeed, "rule" | "missing" | "approvers" | "more_approvers">): string {
  const people = more_approvers ? [...approvers, "others"] : approvers;
  const before = people.slice(0, -1).join(", ");
  const names = `${before === "" ? "" : `${before} or `}${people.at(-1) ?? "No member"}`;
  if (more_approvers || approvers.length >= missing) return `${names} can approve it.`;
  const only = approvers.length === 0 ? "" : "Only ";
  return `${only}${names} can approve it: an admin can ${easierRule(rule)}, or in a team give another member the role deployer.`;
}

/** How an admin makes an approval rule ask for less. */
function easierRule({ by_author, count }: ApprovalRule): string {
  const ways = [
    ...(by_author ? [] : ["let the authors approve"]),
    ...(count > 1 ? ["ask for fewer approvals"] : []),
  ];
  return ways.length === 0 ? "remove the rule" : `change the rule, to ${ways.join(" or to ")}`;
}

/** Describes what a DESTROY_WORKER job destroys: `targets`, or everything, of `name`. */
export const destroyedWords = (targets: readonly string[] | undefined, name: string): string =>
  `${targets === undefined ? "everything in the state" : targets.join(", ")} of "${name}"`;

/** Whether an apply or a destruction runs, which may resolve an earlier failure. */
export const isChanging = (status: Configuration["status"]): boolean =>
  status === "DEPLOYING" || status === "DESTROYING";

/**
 * What is deployed and, until a later job succeeds, what failed, such as `DEPLOYED, last deploy
 * failed`, or which checks failed. A PLAN that ends the status FAILED does not change the words.
 */
export function statusWords({
  status,
  deployed,
  failed_job: failed,
}: Pick<Configuration, "status" | "deployed" | "failed_job">): string {
  if (isChanging(status)) return status;
  if (!failed) return [status, ...failedChecksWords(deployed)].join(", ");
  const what = failedWhat[failed.job_type];
  const end = failed.status === "CANCELLED" ? "cancelled" : "failed";
  return `${deployed ? "DEPLOYED" : "NOT DEPLOYED"}, last ${what} ${end}`;
}

/** `1 check failed`, in a list; an empty one without any. */
export const failedChecksWords = (
  one: { readonly failed_checks?: number | null } | null | undefined,
): string[] => {
  const failed = one?.failed_checks ?? 0;
  return failed === 0 ? [] : [`${failed} check${failed === 1 ? "" : "s"} failed`];
};

const failedWhat = {
  PLAN: "plan",
  DEPLOY: "deploy",
  DESTROY: "destroy",
  DESTROY_WORKER: "teardown",
} as const satisfies Record<JobType, string>;

/** Describes where the state is. An older server sends only what was chosen. */
export function stateWords({
  backend,
  state_backend = backend ?? null,
}: Pick<Configuration, "backend" | "state_backend">): string {
  if (state_backend === "own") return "in the backend that its files declare";
  return state_backend === "managed"
    ? "managed by the control plane"
    : "decided by the next deployment: in the backend that its files declare, else managed by the control plane";
}

type DestroyOptions = Pick<PlanOptions, "destroy"> &
  Partial<Pick<PlanOptions, "targets" | "exclude">>;

/** Whether a plan destroys everything; one with `targets` or `exclude` is described by its changes. */
export const destroysAll = (options: DestroyOptions | null | undefined): boolean =>
  options?.destroy === true && [options.targets, options.exclude].every((list) => !list?.length);

/** Returns the type of a job, such as `PLAN to destroy` if it plans to destroy everything. */
export const jobTypeWords = (type: JobType, options: DestroyOptions | null | undefined): string =>
  destroysAll(options) && type !== "DESTROY" ? `${type} to destroy` : type;

/** Whether the runner of a job has reported that it failed for this reason. */
export const failedBy = ({ failure }: Pick<Job, "failure">, kind: FailureKind): boolean =>
  failure?.kind === kind;

/** Such as `3 of 5 done, 1 failed`. `isOver`: counts those that it did not reach, too. */
export function resourceProgressWords(
  { done, open, failed, total, resources = [] }: ResourceProgress,
  isOver: boolean,
): string {
  const isLost = resources.some(({ outcome }) => outcome === "unknown");
  const missed = total === null ? 0 : total - done - open - failed;
  return [
    `${done}${total === null ? "" : ` of ${total}`} done`,
    ...(open > 0 ? [`${open} ${isOver ? "not finished" : "in progress"}`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(isOver && missed > 0 ? [`${missed} ${isLost ? "unknown" : "not reached"}`] : []),
  ].join(", ");
}

/** What became of a resource of an apply that did not succeed. */
export const outcomeWords: Readonly<Record<ResourceOutcome["outcome"], string>> = {
  done: "done",
  failed: "failed",
  not_finished: "not finished",
  not_reached: "not reached",
  unknown: "unknown",
};

/** How long before its end people are warned, as by the event `schedule.expires`. */
const warningMilliseconds = 86_400_000;

/** Whether what is deployed will be destroyed in a day, because the configuration expires. */
export const endsSoon = (
  { status, expires_at }: Pick<Configuration, "status" | "expires_at">,
  now: number,
): boolean => {
  const left = expires_at ? Date.parse(expires_at) - now : 0;
  return left > 0 && left <= warningMilliseconds && status !== "NEW" && status !== "DESTROYED";
};

/** What the last drift check has found. */
export function driftText({ status, resources }: Pick<Drift, "status" | "resources">): string {
  if (status === "drifted")
    return `drifted: ${resourcesText(resources)} ${resources === 1 ? "differs" : "differ"}`;
  return { unchecked: "not checked", in_sync: "in sync", failed: "the last check failed" }[status];
}

/** Returns `1 resource` or `3 resources`; of a state that the server cannot read, that it is not known. */
export const resourcesText = (count: number | null): string =>
  count === null ? "an unknown number of resources" : `${count} resource${count === 1 ? "" : "s"}`;

/** So many of several things are named in a sentence. */
export const namesShown = 3;

/** Names the first of several things, such as `"a", "b", "c" and 2 more`. */
export function namesInShort(
  things: readonly { readonly name: string }[],
  total = things.length,
): string {
  const names = things.slice(0, namesShown).map(({ name }) => `"${name}"`);
  const more = total - names.length;
  if (more > 0) return `${names.join(", ")} and ${more.toLocaleString("en")} more`;
  return [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");
}

/** How many resources a plan destroys; one that it replaces is one of them. */
export const destroyedCount = (counts: Pick<PlanCounts, "delete" | "replace">): number =>
  counts.delete + counts.replace;

/** Says what a plan destroys and replaces, such as `destroys 1, replaces 2`; empty if nothing. */
export const destroysText = (counts: Pick<PlanCounts, "delete" | "replace">): string =>
  [
    counts.delete > 0 ? `destroys ${counts.delete}` : "",
    counts.replace > 0 ? `replaces ${counts.replace}` : "",
  ]
    .filter(Boolean)
    .join(", ");

/** The signs of what happens to resources, in the order of a plan's counts. */
const countSigns = [
  ["create", "+"],
  ["update", "~"],
  ["replace", "±"],
  ["delete", "−"],
  ["forget", "○"],
  ["move", "→"],
  ["import", "↓"],
] as const;

/** Explains the signs, such as `+ create, ~ update`. */
export const countSignsText = countSigns.map(([action, sign]) => `${sign} ${action}`).join(", ");

/** Returns what a plan changes in short, such as `+2 ~1 −3`, or `no changes`. */
export const changesText = (counts: PlanCounts): string =>
  countSigns
    .filter(([action]) => counts[action] > 0)
    .map(([action, sign]) => `${sign}${counts[action]}`)
    .join(" ") || (counts.only === undefined ? "no changes" : onlyTexts[counts.only]);

/** Returns `main.tf:3: aws_vpc.main: Deprecated attribute: …`, as far as a warning has them. */
export const warningText = ({ summary, detail, address, file, line }: JobWarning): string =>
  [file === undefined ? "" : `${file}:${line}`, address, summary, detail]
    .filter(Boolean)
    .join(": ");

/** Whether a plan changes, moves, imports or forgets a resource. */
export const changesResources = (counts: PlanCounts): boolean =>
  countSigns.some(([action]) => counts[action] > 0);

const onlyTexts = {
  outputs: "only outputs change",
  state: "only the state changes",
} as const satisfies Record<NonNullable<PlanCounts["only"]>, string>;

/** Texts for the action reasons of `terraform show -json`. */
const planReasons: Readonly<Record<string, string>> = {
  replace_because_tainted: "it is tainted: an earlier apply did not finish it",
  replace_because_cannot_update: "it cannot be changed in place",
  replace_by_request: "a replacement was requested",
  replace_by_triggers: "one of its replace_triggered_by changes",
  delete_because_no_resource_config: "it is no longer in the configuration",
  delete_because_no_module: "its module is no longer in the configuration",
  delete_because_wrong_repetition: "count or for_each was added or removed",
  delete_because_count_index: "count is lower now",
  delete_because_each_key: "its key is no longer in for_each",
  delete_because_no_move_target: "it was moved to an address that is not configured",
  read_because_config_unknown: "its configuration is known only after the apply",
  read_because_dependency_pending: "what it depends on changes first",
  read_because_check_nested: "a check needs it",
};

/** Returns the text for a reason; a reason of a newer terraform is shown in its own words. */
export const planReason = (reason: string): string =>
  planReasons[reason] ?? reason.replaceAll("_", " ");

/** Ends a message with one period, for a text in which another sentence follows. */
export function sentence(message: string): string {
  const text = message.trimEnd().replace(/[:;,]$/, "");
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** Returns the name of a field without the part of the request that it came in. */
export const fieldName = (path: string): string =>
  path
    .replace(/^(body|params|querystring|query|headers)\./, "")
    .replace(/\.(\d{1,6})(?=\.|$)/g, (_, index: string) => ` (entry ${Number(index) + 1})`);

/** Returns a message such as `name must not be empty`. */
export const faultText = ({ path, message }: { path: string; message: string }): string =>
  `${fieldName(path)} ${message}`;

/** Describes a source in git: address, directory, ref and, once it is known, the commit. */
export const gitSourceText = (
  { url, path, ref }: { url: string; path?: string; ref?: string },
  commit: string | undefined,
): string =>
  `${url}${path ? ` (${path})` : ""} at ${ref ?? "its default branch"}${commit === undefined ? "" : `, commit ${commit}`}`;

/** For a version that no job wrote. It is not known of some earlier versions. */
export function storerText({
  stored_by,
  copy_of,
}: {
  readonly stored_by?: string | null;
  readonly copy_of?: number | null;
}): string {
  const by = stored_by ?? "a person";
  if (typeof copy_of === "number") return `${by}, rolled back to ${copy_of}`;
  return stored_by ? `${by}, pushed` : by;
}
