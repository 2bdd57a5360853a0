/** Plans as text, shared by the command line and the console. */
import { escaped, invisible } from "../common/control-sequences.ts";
import { plainJson } from "../common/exact-json.ts";
import { firstDifference } from "../common/first-difference.ts";
import type { Job } from "./jobs.ts";
import type { MadeKnown } from "./made-known.ts";
import type { PlanCounts } from "./plan-counts.ts";
import type { PlanOptions } from "./plan-options.ts";
import type {
  OutputChange,
  PlanAction,
  PlannedAttribute,
  PlannedChange,
  PlanSummary,
} from "./plan-summary.ts";
import { planReason, resourceProgressWords } from "./words.ts";

/** Returns a headline such as `Plan: 2 to add, 1 to replace`. */
export const planHeadline = (plan: PlanSummary): string => {
  const said = countWords(plan, "planned");
  return `Plan: ${said ?? (plan.applyable ? onlyWords(plan, "change", "changes") : "no changes")}`;
};

/** The job that applied a plan, after its end. */
export type AppliedJob = Pick<Job, "status" | "started_at" | "resource_progress" | "apply_began">;

/** Such as `Applied: 2 added, 1 replaced` or `Apply failed: 2 of 5 done, 1 failed`. */
export function appliedHeadline(
  plan: PlanSummary,
  { status, started_at, resource_progress: progress, apply_began }: AppliedJob,
): string {
  if (status === "SUCCESS")
    return `Applied: ${countWords(plan, "done") ?? (plan.applyable ? onlyWords(plan, "changed", "changed") : "no changes")}`;
  if (started_at === null || apply_began === false) return `Not applied. ${planHeadline(plan)}`;
  if (!progress) return `${unapplied(status)}. ${planHeadline(plan)}`;
  return `${unapplied(status)}: ${resourceProgressWords(progress, true)}`;
}

/** How an apply ended that did not succeed. */
export const unapplied = (status: Job["status"]): string =>
  status === "CANCELLED" ? "Apply cancelled" : "Apply failed";

const countTexts = [
  ["create", "to add", "added"],
  ["update", "to change", "changed"],
  ["replace", "to replace", "replaced"],
  ["delete", "to destroy", "destroyed"],
  ["forget", "to forget", "forgotten"],
  ["move", "to move", "moved"],
  ["import", "to import", "imported"],
] as const;

/** Returns undefined if no resource changes. */
function countWords({ counts }: PlanSummary, tense: "planned" | "done"): string | undefined {
  const said = countTexts.flatMap(([action, planned, done]) =>
    counts[action] > 0 ? [`${counts[action]} ${tense === "planned" ? planned : done}`] : [],
  );
  return said.length > 0 ? said.join(", ") : undefined;
}

const onlyWords = (plan: PlanSummary, plural: string, singular: string): string =>
  onlyOf(plan) === "outputs" ? `only outputs ${plural}` : `only the state ${singular}`;

/** What a plan changes that changes something, but no resource. */
export const onlyOf = ({ counts, outputs }: PlanSummary): NonNullable<PlanCounts["only"]> =>
  counts.only ?? (outputs.some(({ action }) => action !== "none") ? "outputs" : "state");

/** A plan that only destroys leaves nothing that the checks after the apply could check. */
export const shownChecks = ({ checks, counts }: PlanSummary): PlanSummary["checks"] =>
  onlyDestroys(counts) ? checks.filter(({ status }) => status !== "unknown") : checks;

export const onlyDestroys = (counts: PlanCounts): boolean =>
  counts.delete > 0 && counts.create + counts.update + counts.replace === 0;

/** How many checks fail, which terraform only warns of. */
export const failedChecksOf = ({ checks }: Pick<MadeKnown, "checks">): number =>
  checks.filter(({ status }) => status === "fail" || status === "error").length;

/** Returns why and how a resource changes, besides its attributes. */
export const changeNotes = ({
  reason,
  replaced_by,
  previous_address,
  imported,
  created_first,
}: PlannedChange): string[] => [
  ...(previous_address === undefined ? [] : [`moved from ${previous_address}`]),
  ...(imported ? ["imported"] : []),
  ...(reason === undefined ? [] : [planReason(reason)]),
  ...(created_first ? ["the new one is created first"] : []),
  ...(replaced_by?.length ? [`because of ${replaced_by.join(", ")}`] : []),
];

/** Returns the attributes of a change; an agent of version 0.1 sends their names only. */
export const attributesOf = ({ attributes = [] }: PlannedChange): PlannedAttribute[] =>
  attributes.map((attribute) => (typeof attribute === "string" ? { path: attribute } : attribute));

/** How an attribute is before and after the apply, as text; undefined: it is not there. */
interface AttributeText {
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What a plan says of a value that it does not know, before the apply and after it. */
const unknownValue = (isOver: boolean): string =>
  isOver ? "(not known when it was planned)" : "(known after the apply)";

/** A 0.1 agent sends neither value. `isOver`: the job of the plan has ended. */
export function attributeText(
  action: PlanAction,
  { before, after, sensitive, unknown, large_numbers: numbers = [] }: PlannedAttribute,
  isOver: boolean,
): AttributeText {
  const isNew = action === "create";
  const isGone = action === "delete";
  const old = sensitive ? "(sensitive)" : textOf(before, numbers.includes("before"));
  const next = unknown
    ? unknownValue(isOver)
    : sensitive
      ? "(sensitive)"
      : textOf(after, numbers.includes("after"));
  // A sensitive attribute says only that it changes.
  if (sensitive && !unknown) return { before: undefined, after: next };
  return {
    before: isNew || before === undefined ? undefined : old,
    after: isGone ? undefined : next,
  };
}

/** Returns `name: before → after` of an output, or a line for each part of its value that changes. */
export function outputLines(
  { name, action, sensitive, attributes = [] }: OutputChange,
  isOver: boolean,
): string[] {
  if (attributes.length === 0) return [`${visible(name)}${sensitive ? " (sensitive)" : ""}`];
  return attributes.map((attribute) =>
    attributeLine(action, { ...attribute, path: partOf(name, attribute.path) }, isOver),
  );
}

/** `subnets[0]`, `tags.Name`; the name alone for the whole value. */
export const partOf = (name: string, path: string): string =>
  path === "" || path.startsWith("[") ? `${name}${path}` : `${name}.${path}`;

/** Returns a value of an attribute as JSON, with what a reader cannot see escaped. */
function textOf(value: unknown, isLargeNumber: boolean): string | undefined {
  if (value === undefined) return undefined;
  return visible(isLargeNumber && typeof value === "string" ? value : plainJson(value));
}

/** Escapes control characters, and those that a reader cannot see, joiners too. */
export const visible = (text: string): string => text.replaceAll(unseen, escaped);

const unseen = new RegExp(String.raw`[\u0000-\u001f\u007f-\u009f\u200c\u200d${invisible}]`, "g");

/** The first character of a line of a diff, which colours it. */
export const diffSigns: Readonly<Record<PlanAction, string>> = {
  create: "+",
  update: "!",
  replace: "!",
  delete: "-",
  forget: "#",
  read: "#",
  none: "#",
};

/** A comment on GitHub takes 65,536 characters. */
const markdownLimit = 60_000;
const markdownLine = 500;

/**
 * As Markdown for a pull request, with a diff. `applied`: the ended job that applied it. `options`:
 * how the plan differs from an ordinary one.
 */
export function planMarkdown(
  name: string,
  plan: PlanSummary,
  {
    applied,
    options,
  }: { applied?: AppliedJob | undefined; options?: PlanOptions | null | undefined } = {},
): string {
  const title = `**${applied ? appliedHeadline(plan, applied) : planHeadline(plan)}** (${codeSpan(visible(name))})\n`;
  const notes = [
    ...(options ? planOptionsWords(options, plan, (address) => codeSpan(visible(address))) : []),
    ...(plan.complete ? [] : [partialPlanText(applied)]),
  ];
  const head = notes.length === 0 ? title : `${title}\n${notes.join("\n")}\n`;
  const isOver = applied !== undefined;
  const lines = plan.changes
    .flatMap((change) => changeLines(change, isOver))
    .map((line) => cut(line, markdownLine));
  for (const output of plan.outputs)
    for (const line of outputLines(output, isOver))
      lines.push(cut(`${diffSigns[output.action]} output ${line}`, markdownLine));
  let room = markdownLimit;
  const kept = lines.filter((line) => (room -= line.length + 1) >= 0);
  const omitted = lines.length - kept.length;
  if (omitted > 0) kept.push(`# … and ${omitted} more lines`);
  if (plan.changes_omitted > 0) kept.push(`# … and ${plan.changes_omitted} more resources`);
  if (kept.length === 0) return head;
  const fence = fenceFor(kept, 3);
  return `${head}\n<details><summary>Changes</summary>\n\n${fence}diff\n${kept.join("\n")}\n${fence}\n\n</details>\n`;
}

/** A fence of code is longer than any row of backticks in the text, and has at least so many. */
export function fenceFor(lines: readonly string[], least: number): string {
  const rows = lines.flatMap((line) => line.match(/`+/g) ?? []);
  return "`".repeat(Math.max(least, ...rows.map((row) => row.length + 1)));
}

/** The spaces are not shown; they part the fence from a backtick of the text. */
function codeSpan(text: string): string {
  const fence = fenceFor([text], 1);
  return fence.length === 1 ? `\`${text}\`` : `${fence} ${text} ${fence}`;
}

function changeLines(change: PlannedChange, isOver: boolean): string[] {
  const { action, address } = change;
  const notes = changeNotes(change).join("; ");
  const title = `${diffSigns[action]} ${visible(address)}${notes === "" ? "" : `  (${visible(notes)})`}`;
  if (action === "delete") return [title];
  return [
    title,
    ...attributesOf(change).map(
      (attribute) => `${diffSigns[action]}     ${attributeLine(action, attribute, isOver)}`,
    ),
  ];
}

/** Returns `path: before → after`. */
export function attributeLine(
  action: PlanAction,
  attribute: PlannedAttribute,
  isOver: boolean,
): string {
  const { before, after } = attributeText(action, attribute, isOver);
  const from = differenceStart(before, after);
  const values = [before, after]
    .filter((text) => text !== undefined)
    .map((text) => (from === 0 ? text : `…${text.slice(from).toWellFormed()}`))
    .join(" → ");
  return values === "" ? visible(attribute.path) : `${visible(attribute.path)}: ${values}`;
}

/** Where to begin two long values, to show their first difference; 0 if it is near the start. */
export function differenceStart(before: string | undefined, after: string | undefined): number {
  if (before === undefined || after === undefined) return 0;
  const difference = firstDifference(before, after);
  return difference > farCharacters ? difference - contextCharacters : 0;
}

/** A difference after so many characters may be cut off, and so many before it are shown. */
const farCharacters = 80;
const contextCharacters = 30;

const cut = (text: string, limit: number): string =>
  text.length > limit ? `${text.slice(0, limit - 1).toWellFormed()}…` : text;

/** Says that a plan changes nothing, and what that means for a plan with these options. */
export function nothingText(options: PlanOptions | null | undefined): string {
  if (options?.destroy) return "Nothing: there is nothing to destroy.";
  if (options?.refresh_only)
    return "Nothing: nothing was changed outside of terraform. An ordinary plan says whether the infrastructure matches the configuration.";
  if (options && [...options.targets, ...(options.exclude ?? [])].length > 0)
    return "Nothing: this part of the infrastructure matches the configuration.";
  return "Nothing: the infrastructure matches the configuration.";
}

/** How it differs from an ordinary plan, in sentences. `marked` writes an address. */
export function planOptionsWords(
  { destroy, refresh_only, targets, replace, exclude = [] }: PlanOptions,
  plan?: { readonly applyable: boolean } | null,
  marked = (address: string): string => address,
): string[] {
  const limit = targets.map(marked).join(", ");
  const excluded = exclude.map(marked).join(", ");
  const except = excluded === "" ? "" : `, except ${excluded} and what it depends on`;
  return [
    destroy && limit === ""
      ? `This plan ${plan?.applyable === false ? "was to destroy" : "destroys"} everything that the configuration has deployed${except}.`
      : "",
    destroy && limit !== "" ? `This plan destroys ${limit}, and what depends on it.` : "",
    refresh_only && plan?.applyable !== false
      ? "This plan changes only the state: it takes over what was changed outside of terraform."
      : "",
    refresh_only && plan?.applyable === false
      ? "This plan looked only for what was changed outside of terraform."
      : "",
    !destroy && limit !== "" ? `This plan is limited to ${limit}, and what it depends on.` : "",
    !destroy && excluded !== "" ? `This plan leaves out ${excluded}, and what depends on it.` : "",
    // Terraform does not say so.
    limit !== "" && plan?.applyable === false
      ? "If you expected a change, check the spelling: a target that does not exist changes nothing."
      : "",
    replace.length > 0 ? `A replacement was requested of ${replace.map(marked).join(", ")}.` : "",
  ].filter(Boolean);
}

/** Says that a plan may leave changes out. `applied`: the ended job that applied it. */
export function partialPlanText(applied: Pick<Job, "status"> | undefined): string {
  if (applied === undefined)
    return "This plan may not include all changes. After it is applied, plan again for the rest.";
  const past = "This plan may not have included all changes";
  return applied.status === "SUCCESS" ? `${past}: plan again for the rest.` : `${past}.`;
}
