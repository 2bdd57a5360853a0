/** The one comment of a pull request: a table, then each plan folded. */
import {
  attributesOf,
  attributeText,
  changeNotes,
  diffSigns,
  fenceFor,
  planHeadline,
  visible,
} from "../../../protocol/plan-text.ts";
import type { PlanAction, PlanSummary } from "../../../protocol/plan-summary.ts";

/** The plan of one configuration, as the comment shows it. */
export interface CommentedPlan {
  readonly configuration: string;
  /** In short, as the status says it. */
  readonly said: string;
  /** The page of the job. */
  readonly url: string;
  /** Names of the values that the plan did not get. */
  readonly withheld: readonly string[];
  /** Of one plan at a time: 500 summaries of 1 MiB do not fit into memory together. */
  readonly read: () => Promise<PlanDetails>;
}

interface PlanDetails {
  readonly error: string | null;
  readonly summary: PlanSummary | null;
}

interface CommentForm {
  /** Recognizes the comment; a host without HTML comments keeps its id instead. */
  readonly marker: string;
  readonly hasHtml: boolean;
  /** In characters. */
  readonly limit: number;
}

/** The marker is hidden and the same for all comments of a connection. */
export const markerOf = (statusName: string): string => `<!-- windlass: ${statusName} -->`;

/** Nothing in the comment is markup of a configuration: its texts are code. */
export async function commentText(
  plans: readonly CommentedPlan[],
  commit: string,
  { marker, hasHtml, limit }: CommentForm,
): Promise<string> {
  const head = [
    ...(hasHtml ? [marker] : []),
    `**Windlass** planned ${code(commit.slice(0, 12))}, merged into its base.`,
    "",
    "| Configuration | Plan | |",
    "| --- | --- | --- |",
    ...plans.map(
      ({ configuration, said, url }) =>
        `| ${cell(configuration)} | ${cell(said)} | [open](${url}) |`,
    ),
  ];
  const text = fitted(head, limit - 200);
  const each = Math.floor((limit - text.length) / Math.max(1, plans.length));
  const parts: string[] = [];
  for (const plan of plans) parts.push(await foldedPlan(plan, hasHtml, each));
  const whole = [text, ...parts.filter(Boolean)].join("\n\n");
  return whole.length <= limit ? whole : whole.slice(0, limit);
}

/** Leaves out the last lines over the limit. */
function fitted(lines: readonly string[], limit: number): string {
  let size = 0;
  const kept = lines.filter((line) => (size += line.length + 1) <= limit);
  const missing = lines.length - kept.length;
  return missing === 0
    ? kept.join("\n")
    : [...kept, "", `${missing} more configurations are in Windlass.`].join("\n");
}

/** Empty if there is no room for anything useful. */
async function foldedPlan(plan: CommentedPlan, hasHtml: boolean, limit: number): Promise<string> {
  const { configuration, withheld, url } = plan;
  const more = `The rest is in [the whole plan](${url}).`;
  const left = limit - more.length - 80;
  if (left <= 0) return "";
  const { error, summary } = await plan.read();
  const lines = [
    ...(withheld.length > 0
      ? [
          `Not given to this plan: ${withheld.join(", ")}`,
          "So its approvals do not count after the merge.",
          "",
        ]
      : []),
    ...(error ? error.split("\n") : []),
    ...(summary ? planLines(summary) : []),
  ].map(visible);
  if (lines.length === 0) return "";
  const title = summary ? planHeadline(summary) : "";
  const [open, close] = hasHtml
    ? [
        `<details><summary><code>${html(configuration)}</code> ${html(title)}</summary>\n\n`,
        `\n\n</details>`,
      ]
    : [`**${code(configuration)}** ${title}\n\n`, ""];
  const room = left - open.length - close.length;
  const kept: string[] = [];
  let size = 0;
  for (const line of lines) {
    if (size + line.length + 1 > room) break;
    kept.push(line);
    size += line.length + 1;
  }
  if (kept.length === 0) return "";
  const isCut = kept.length < lines.length || (summary?.truncated ?? false);
  const fence = fenceFor(kept, 3);
  const block = `${fence}diff\n${kept.join("\n")}\n${fence}`;
  return `${open}${block}${isCut ? `\n\n${more}` : ""}${close}`;
}

const words: Readonly<Record<PlanAction, string>> = {
  create: "create",
  update: "update",
  replace: "replace",
  delete: "destroy",
  forget: "forget",
  read: "read",
  none: "move or import",
};

/** A value is cut after so many characters. */
const valueLimit = 300;

function* planLines(summary: PlanSummary): Generator<string> {
  for (const change of summary.changes) {
    const sign = diffSigns[change.action];
    const notes = changeNotes(change);
    yield `${sign} ${change.address} (${[words[change.action], ...notes].join("; ")})`;
    for (const attribute of attributesOf(change)) {
      const { before, after } = attributeText(change.action, attribute, false);
      const values = [before, after].filter((one) => one !== undefined).map(inShort);
      yield `${sign}     ${attribute.path}${values.length > 0 ? `: ${values.join(" → ")}` : ""}`;
    }
  }
  if (summary.changes_omitted > 0) yield `# and ${summary.changes_omitted} more`;
  for (const { name, action, sensitive } of summary.outputs)
    if (action !== "none")
      yield `${diffSigns[action]} output ${name}${sensitive ? " (sensitive)" : ""}`;
  for (const { address, status } of summary.checks)
    if (status !== "unknown") yield `! check ${address}: ${status}`;
}

const inShort = (value: string): string =>
  value.length > valueLimit ? `${value.slice(0, valueLimit)}…` : value;

/** As inline code, in which nothing is markup and no one is mentioned. */
function code(text: string): string {
  const fence = fenceFor([text], 1);
  const space = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${fence}${space}${visible(text)}${space}${fence}`;
}

/** A pipe ends a cell even in code. */
const cell = (text: string): string => code(text).replaceAll("|", "\\|");

const html = (text: string): string =>
  visible(text).replaceAll(/[&<>"'`*_[\]@#~|\\]/g, (one) => `&#${one.codePointAt(0)};`);
