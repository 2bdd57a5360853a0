/** Plans as text, shared by the command line and the console. */
import type {
  OutputChange,
  PlanAction,
  PlannedAttribute,
  PlannedChange,
  PlanSummary,
} from "./plan-summary.ts";
import { planReason } from "./words.ts";

/** Returns a headline such as `Plan: 2 to add, 1 to replace`. */
export function planHeadline({ counts, applyable, outputs }: PlanSummary): string {
  const parts = [
    [counts.create, "to add"],
    [counts.update, "to change"],
    [counts.replace, "to replace"],
    [counts.delete, "to destroy"],
    [counts.forget, "to forget"],
    [counts.move, "to move"],
    [counts.import, "to import"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  if (said.length > 0) return `Plan: ${said.join(", ")}`;
  if (!applyable) return "Plan: no changes";
  const changesOutputs = outputs.some(({ action }) => action !== "none");
  return changesOutputs ? "Plan: only outputs change" : "Plan: only the state changes";
}

/**
 * Returns the checks to show. Of those that are known only after the apply, a plan that only destroys
 * has none to say: nothing is left that they could check.
 */
export const shownChecks = ({ checks, counts }: PlanSummary): PlanSummary["checks"] =>
  counts.delete > 0 && counts.create + counts.update + counts.replace === 0
    ? checks.filter(({ status }) => status !== "unknown")
    : checks;

/** Returns why and how a resource changes, besides its attributes. */
export const changeNotes = ({
  reason,
  replaced_by,
  previous_address,
  imported,
}: PlannedChange): string[] => [
  ...(previous_address === undefined ? [] : [`moved from ${previous_address}`]),
  ...(imported ? ["imported"] : []),
  ...(reason === undefined ? [] : [planReason(reason)]),
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

/** Returns the text of both values; of a 0.1 agent's attribute, none. */
export function attributeText(
  action: PlanAction,
  { before, after, sensitive, unknown }: PlannedAttribute,
): AttributeText {
  const isNew = action === "create";
  const isGone = action === "delete";
  const old = sensitive ? "(sensitive)" : valueText(before);
  const next = unknown ? "(known after the apply)" : sensitive ? "(sensitive)" : valueText(after);
  // A sensitive attribute says only that it changes.
  if (sensitive && !unknown) return { before: undefined, after: next };
  return {
    before: isNew || before === undefined ? undefined : old,
    after: isGone ? undefined : next,
  };
}

/** Returns `name: before → after` of an output, or a line for each part of its value that changes. */
export function outputLines({ name, action, sensitive, attributes = [] }: OutputChange): string[] {
  if (attributes.length === 0) return [`${visible(name)}${sensitive ? " (sensitive)" : ""}`];
  return attributes.map((attribute) =>
    attributeLine(action, { ...attribute, path: partOf(name, attribute.path) }),
  );
}

/** `subnets[0]`, `tags.Name`; the name alone for the whole value. */
const partOf = (name: string, path: string): string =>
  path === "" || path.startsWith("[") ? `${name}${path}` : `${name}.${path}`;

/** Returns a value of an attribute as JSON, with what a reader cannot see escaped. */
const valueText = (value: unknown): string | undefined =>
  value === undefined ? undefined : visible(JSON.stringify(value));

/** Escapes control characters, and those that change the direction of the text around them. */
export const visible = (text: string): string =>
  text.replaceAll(
    // oxlint-disable-next-line no-control-regex -- these are what is looked for
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const signs: Readonly<Record<PlanAction, string>> = {
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

/** Returns the plan as Markdown for a pull request, with a diff that its host colours. */
export function planMarkdown(plan: PlanSummary): string {
  const head = `**${planHeadline(plan)}**\n`;
  const lines = plan.changes.flatMap(changeLines).map((line) => cut(line, markdownLine));
  for (const output of plan.outputs)
    for (const line of outputLines(output))
      lines.push(cut(`${signs[output.action]} output ${line}`, markdownLine));
  let room = markdownLimit;
  const kept = lines.filter((line) => (room -= line.length + 1) >= 0);
  const omitted = lines.length - kept.length;
  if (omitted > 0) kept.push(`# … and ${omitted} more lines`);
  if (plan.changes_omitted > 0) kept.push(`# … and ${plan.changes_omitted} more resources`);
  if (kept.length === 0) return head;
  // The text may contain backticks; the fence is longer than any row of them.
  const longest = Math.max(
    2,
    ...kept.flatMap((line) => line.match(/`+/g) ?? []).map((row) => row.length),
  );
  const fence = "`".repeat(longest + 1);
  return `${head}\n<details><summary>Changes</summary>\n\n${fence}diff\n${kept.join("\n")}\n${fence}\n\n</details>\n`;
}

function changeLines(change: PlannedChange): string[] {
  const { action, address } = change;
  const notes = changeNotes(change).join("; ");
  const title = `${signs[action]} ${visible(address)}${notes === "" ? "" : `  (${visible(notes)})`}`;
  if (action === "delete") return [title];
  return [
    title,
    ...attributesOf(change).map(
      (attribute) => `${signs[action]}     ${attributeLine(action, attribute)}`,
    ),
  ];
}

/** Returns `path: before → after`. */
export function attributeLine(action: PlanAction, attribute: PlannedAttribute): string {
  const { before, after } = attributeText(action, attribute);
  const values = [before, after].filter((text) => text !== undefined).join(" → ");
  return values === "" ? visible(attribute.path) : `${visible(attribute.path)}: ${values}`;
}

const cut = (text: string, limit: number): string =>
  text.length > limit ? `${text.slice(0, limit - 1).toWellFormed()}…` : text;
