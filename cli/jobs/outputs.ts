/** Formats Terraform outputs. */
import { plainJson } from "../../common/exact-json.ts";
import type { Configuration } from "../../protocol/configurations.ts";
import type { ExecutionMetadata, Job } from "../../protocol/jobs.ts";
import { omittedText, outputOf, type JobOutput } from "../../protocol/outputs.ts";
import { teamWords } from "../api/team.ts";
import type { Run } from "../run.ts";
import { hclValue } from "../states/hcl.ts";
import { clean, cleanLine, print, styled } from "../terminal/output.ts";
import { shellWord } from "../../common/shell-word.ts";
import { table } from "../terminal/table.ts";

type Outputs = Pick<ExecutionMetadata, "outputs" | "outputs_omitted">;

export const outputsOf = ({
  components,
  outputs_omitted: omitted,
}: Pick<Configuration, "components" | "outputs_omitted">): Outputs => ({
  outputs: Object.fromEntries(components.map(({ name, ...output }) => [name, output])),
  ...(omitted === undefined ? {} : { outputs_omitted: omitted }),
});

export async function printOutputsOf(run: Run, job: Job): Promise<void> {
  const outputs = job.execution_metadata ?? {};
  // The job does not say where the state is. After a deletion, there is none.
  const { configuration_id: name } = job;
  const configuration =
    isComplete(outputs) || name === null
      ? undefined
      : await run.api.call("getConfiguration", { params: { name } });
  printOutputs(run, outputs, configuration);
}

/** Prints outputs, and where the values are that are too large to be kept. */
export function printOutputs(
  { api, done }: Run,
  outputs: Outputs,
  configuration?: Pick<Configuration, "name" | "state_backend">,
): void {
  const lines = outputLines(outputs);
  if (lines.length > 0) for (const line of ["", "Outputs:", ...lines]) print(line);
  if (configuration?.state_backend === "managed" && !isComplete(outputs))
    done(
      `What is too large to be kept here is in the state: windlass state pull ${shellWord(configuration.name)}${teamWords(api.team)}`,
    );
}

/** One line per output, or several as terraform prints a text; no value of a sensitive one. */
export const outputLines = (outputs: Outputs, isTerminal = process.stdout.isTTY): string[] => [
  ...table(
    entriesOf(outputs).map(([name, output]) => [
      `  ${clean(name)}`,
      `= ${valueOf(output, isTerminal)}`,
    ]),
  ).flatMap((line) => line.split("\n")),
  ...(outputs.outputs_omitted
    ? [styled("dim", `  (${omittedText(outputs.outputs_omitted)})`)]
    : []),
];

const entriesOf = ({ outputs = {} }: Outputs) =>
  Object.entries(outputs).map(([name, output]) => [name, outputOf(output)] as const);

const isComplete = (outputs: Outputs): boolean =>
  !outputs.outputs_omitted &&
  entriesOf(outputs).every(([, { omitted_bytes }]) => omitted_bytes === undefined);

function valueOf(
  { value, sensitive, omitted_bytes: bytes }: JobOutput,
  isTerminal: boolean,
): string {
  if (sensitive) return styled("dim", "(sensitive)");
  if (typeof bytes === "number")
    return styled("dim", `(${bytes.toLocaleString("en-US")} bytes: too large to be kept here)`);
  if (value === undefined) return styled("dim", "(not kept here)");
  const lines = (typeof value === "string" ? value : partsText(value)).split(/\r?\n/);
  const whole = lines.map(cleanLine).join("\n");
  const text = isTerminal ? shortened(whole) : whole;
  return lines.length === 1 || typeof value !== "string" ? text : `<<EOT\n${text}\nEOT`;
}

/** Characters of a list or a map that is shown in one line. */
const lineLimit = 60;

function partsText(value: unknown): string {
  const json = plainJson(value);
  return json.length > lineLimit ? hclValue(value, "  ") : json;
}

/** Characters of a value on a terminal. */
const shownLimit = 2000;

function shortened(text: string): string {
  const more = text.length - shownLimit;
  return more <= 0
    ? text
    : `${text.slice(0, shownLimit).toWellFormed()}… ${styled("dim", `(${more.toLocaleString("en-US")} more characters; --json shows all)`)}`;
}
