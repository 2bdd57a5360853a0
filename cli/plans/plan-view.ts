/** A plan as lines: counts, then each resource with sign, reason and what changes in it. */
import type {
  OutputChange,
  PlanAction,
  PlannedChange,
  PlanSummary,
} from "../../protocol/plan-summary.ts";
import type { Job, ResourceOutcome, ResourceProgress } from "../../protocol/jobs.ts";
import {
  appliedHeadline,
  attributeLine,
  attributesOf,
  changeNotes,
  outputLines,
  planHeadline,
  shownChecks,
  unapplied,
  type AppliedJob,
  partialPlanText,
} from "../../protocol/plan-text.ts";
import { outcomeWords, resourceProgressWords } from "../../protocol/words.ts";
import { clean, styled } from "../terminal/output.ts";

const signs: Readonly<
  Record<PlanAction, readonly [sign: string, style: Parameters<typeof styled>[0]]>
> = {
  create: ["+", "green"],
  update: ["~", "yellow"],
  replace: ["-/+", "magenta"],
  delete: ["-", "red"],
  forget: [".", "yellow"],
  read: ["<=", "cyan"],
  none: ["", "dim"],
};

interface Shown {
  /** With what changes in each resource, value by value. */
  readonly attributes?: boolean;
  /** New resources without values, and instances that change alike in one line. */
  readonly folded?: boolean;
  /** Without the outputs that the plan creates, where all outputs follow. */
  readonly outputs?: boolean;
  /** The job that applied the plan and has ended: each resource has what became of it. */
  readonly applied?: AppliedJob | undefined;
  /** The ended job that deployed this plan. */
  readonly deployment?: Pick<Job, "status"> | undefined;
}

export function planView(
  plan: PlanSummary,
  { attributes = true, folded = false, outputs = true, applied, deployment }: Shown = {},
): string[] {
  const lines = [styled("bold", applied ? appliedHeadline(plan, applied) : planHeadline(plan))];
  const isOver = applied !== undefined;
  // After a success, the headline says it of all.
  const isDone = applied?.status === "SUCCESS";
  const resources = isDone ? [] : (applied?.resource_progress?.resources ?? []);
  const outcomes = new Map(resources.map(({ address, outcome }) => [address, outcome]));
  for (const change of folded ? foldInstances(plan.changes) : plan.changes) {
    const paths = attributes ? [] : pathsOf(change);
    lines.push(changeLine(change, paths, outcomes.get(change.address)));
    if (attributes && !(folded && isNew(change))) lines.push(...attributeLines(change, isOver));
  }
  if (plan.changes_omitted > 0) lines.push(`  … and ${plan.changes_omitted} more`);
  const changed = plan.outputs.filter(
    ({ action }) => action !== "none" && (outputs || action !== "create"),
  );
  if (changed.length > 0) {
    lines.push(outputs ? "Outputs:" : "Changes to outputs:");
    for (const output of changed) lines.push(...outputView(output, attributes, isOver));
    if (plan.outputs_omitted > 0) lines.push(`  … and ${plan.outputs_omitted} more`);
  }
  if (plan.drift.length > 0) {
    lines.push("Changed outside of terraform since the last apply:");
    lines.push(...driftLines(plan, attributes));
  }
  for (const { address, status } of shownChecks(plan)) {
    const text =
      isOver && status === "unknown" ? "check was not known when it was planned" : checks[status];
    lines.push(styled(status === "unknown" ? "yellow" : "red", `  ! ${clean(address)}: ${text}`));
  }
  if (!plan.complete) lines.push(partialPlanText(applied ?? deployment));
  return lines;
}

/** Each resource that was changed outside of terraform, as lines. */
export const driftLines = (plan: PlanSummary, attributes = true): string[] => [
  ...plan.drift.flatMap((one) => [
    signed(one.action, one.address),
    ...(attributes ? attributeLines(one, true) : []),
  ]),
  ...(plan.drift_omitted > 0 ? [`  … and ${plan.drift_omitted} more`] : []),
];

const isNew = ({ action }: PlannedChange): boolean => action === "create" || action === "read";

/** Instances that are named where they stand in one line. */
const namedInstances = 3;

/** Returns the changes with instances that change alike as one, such as `aws_subnet.a[0], [1]  ×2`. */
function foldInstances(changes: readonly PlannedChange[]): PlannedChange[] {
  const groups = new Map<string, PlannedChange[]>();
  for (const change of changes) {
    const [base] = change.address.split(instance);
    const isAlike = isNew(change) || change.action === "update";
    const values = isNew(change) ? [] : attributesOf(change);
    const key = isAlike
      ? JSON.stringify([base, change.action, changeNotes(change), values])
      : String(groups.size);
    const group = groups.get(key);
    if (group) group.push(change);
    else groups.set(key, [change]);
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? [];
    const names = others.slice(0, namedInstances - 1).map((one) => instance.exec(one.address)?.[0]);
    const more = others.length >= namedInstances ? ", …" : "";
    const address = `${[first.address, ...names].join(", ")}${more}  ×${others.length + 1}`;
    return { ...first, address };
  });
}

/** The key of an instance at the end of its address. */
const instance = /\[(?:\d+|"(?:[^"\\]|\\.)*")\]$/;

/** Returns what became of each resource of an apply whose plan is not known, as lines. */
export const outcomesView = (
  { status }: Pick<Job, "status">,
  progress: ResourceProgress,
): string[] => [
  styled("bold", `${unapplied(status)}: ${resourceProgressWords(progress, true)}`),
  ...(progress.resources ?? []).map(({ action, address, outcome }) =>
    signed(action, address, "", outcome),
  ),
];

const checks = {
  fail: "check failed",
  error: "check could not be evaluated",
  unknown: "check is evaluated after the apply",
};

function changeLine(change: PlannedChange, paths: readonly string[], outcome?: Outcome): string {
  const notes = [...changeNotes(change), paths.join(", ")];
  const line = signed(change.action, change.address, notes.filter(Boolean).join("; "), outcome);
  // As terraform draws it.
  return change.created_first ? line.replace("-/+", "+/-") : line;
}

/** Attributes that are named where their values are not shown. */
const pathCount = 5;

function pathsOf(change: PlannedChange): string[] {
  const paths = change.action === "update" ? attributesOf(change).map(({ path }) => path) : [];
  return paths.length > pathCount ? [...paths.slice(0, pathCount), "…"] : paths;
}

/** Characters of one line of an attribute; `--json` and the console have all. */
const lineLimit = 200;

function outputView(
  { name, ...output }: OutputChange,
  withValues: boolean,
  isOver: boolean,
): string[] {
  const { action, sensitive, attributes } = output;
  const isKnown = withValues && attributes !== undefined && action !== "delete";
  if (!isKnown) return [signed(action, name, sensitive ? "sensitive" : "")];
  return outputLines({ name, ...output }, isOver).map((line) => signed(action, short(line)));
}

/** The values of destroyed resources do not matter any more. */
function attributeLines(change: PlannedChange, isOver: boolean): string[] {
  if (change.action === "delete") return [];
  return attributesOf(change).map((attribute) => {
    return `          ${short(clean(attributeLine(change.action, attribute, isOver)))}`;
  });
}

const short = (line: string): string =>
  line.length > lineLimit ? `${line.slice(0, lineLimit - 1).toWellFormed()}…` : line;

type Outcome = ResourceOutcome["outcome"];

const outcomeStyles: Readonly<Record<Outcome, Parameters<typeof styled>[0]>> = {
  done: "green",
  failed: "red",
  not_finished: "yellow",
  not_reached: "yellow",
  unknown: "yellow",
};

function signed(action: PlanAction, name: string, note = "", outcome?: Outcome): string {
  const [sign, style] = signs[action];
  const said = note === "" ? "" : styled("dim", `  (${clean(note)})`);
  const end = outcome ? `: ${styled(outcomeStyles[outcome], outcomeWords[outcome])}` : "";
  return `${styled(style, `${sign.padStart(5)} ${clean(name)}`)}${end}${said}`;
}
