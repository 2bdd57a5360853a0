/**
 * Reads the JSON of plans and outputs in a process: a configuration controls its size, and one that
 * is too large fails its own job. V8 ends the process of a thread whose limit a single allocation
 * exceeds, such as a long array, so a thread would take all jobs with it.
 */
import { statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { dirname, extname, join } from "node:path";
import { StepFailedError } from "../context.ts";
import { parseExactly } from "../../../common/exact-json.ts";
import { metadataFrom, type Output, type Outputs } from "../../../common/outputs.ts";
import { readPlan, type DigestRequest, type PlanFacts } from "./json.ts";
import { readKnown } from "./known.ts";
import type { MadeKnown, UnknownValues } from "../../../protocol/made-known.ts";
import { secrecyOf } from "../../../common/redaction/secrecy.ts";
import { gibibyte, mebibyte } from "../../../common/units.ts";

export interface Reading {
  readonly what: "plan" | "outputs" | "values";
  readonly file: string;
  /** Secrets that must not be in what is read. */
  readonly secrets: readonly string[];
  /** The targets of a plan. */
  readonly targets?: readonly string[];
  readonly request?: DigestRequest | undefined;
  /** What is read of the values of a state. */
  readonly unknown?: UnknownValues;
}

type Result = PlanFacts | Outputs | MadeKnown;

/** What the process sends. */
export interface Answer {
  readonly result?: Result;
  readonly failure?: string;
}

/** A smaller file is read sooner than a process starts. */
const smallFile = mebibyte;
/** Terraform's JSON may be 16 times the plan, whose upload is limited to 50 MiB. */
const largestFile = gibibyte;
const heapMebibytes = 128;
const flags = ["--max-semi-space-size=4", `--max-old-space-size=${heapMebibytes}`];

/** Returns the summary of a plan. Throws StepFailedError if it cannot be read. */
export const readPlanApart = (
  file: string,
  secrets: readonly string[],
  stop: AbortSignal,
  targets: readonly string[] = [],
  request?: DigestRequest,
): Promise<PlanFacts> =>
  read({ what: "plan", file, secrets, targets, request }, stop) as Promise<PlanFacts>;

/** Returns the outputs. Throws StepFailedError if they cannot be read. */
export const readOutputsApart = (file: string, secrets: readonly string[]): Promise<Outputs> =>
  read({ what: "outputs", file, secrets }) as Promise<Outputs>;

/** Returns what a state has of these values. Throws StepFailedError if it cannot be read. */
export const readKnownApart = (
  file: string,
  secrets: readonly string[],
  unknown: UnknownValues,
): Promise<MadeKnown> => read({ what: "values", file, secrets, unknown }) as Promise<MadeKnown>;

export function readHere(reading: Reading): Promise<Result> {
  const { what, file, targets, request, unknown } = reading;
  const secrecy = secrecyOf(reading.secrets);
  if (unknown) return readKnown(file, secrecy, unknown);
  return what === "plan"
    ? readPlan(file, secrecy, targets, request)
    : metadataOf(file, secrecy.hides);
}

async function read(reading: Reading, stop?: AbortSignal): Promise<Result> {
  const { size } = statSync(reading.file);
  try {
    if (size > largestFile) throw new Error(`its JSON has ${size} bytes, more than ${largestFile}`);
    return await (size <= smallFile ? readHere(reading) : readInProcess(reading, size, stop));
  } catch (error) {
    throw new StepFailedError(`${reading.what}: cannot be read: ${(error as Error).message}`);
  }
}

async function readInProcess(
  reading: Reading,
  size: number,
  stop: AbortSignal | undefined,
): Promise<Result> {
  const tooLarge = `its JSON (${size} bytes) does not fit into ${heapMebibytes} MiB of memory: a value is too large`;
  const cache = getCompileCacheDir();
  const { execa } = await import("execa");
  const run = await execa(
    join(import.meta.dirname, `reader-process${extname(import.meta.filename)}`),
    {
      node: true,
      nodeOptions: flags,
      extendEnv: false,
      env: cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {},
      ipcInput: reading as never,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
      reject: false,
      // Ctrl-C stops the agent, which waits for its jobs.
      detached: true,
      ...(stop && { cancelSignal: stop }),
    },
  );
  const [answer] = run.ipcOutput as unknown as Answer[];
  if (answer?.result) return answer.result;
  throw new Error(run.isCanceled ? "the reading was stopped" : (answer?.failure ?? tooLarge));
}

const outputsFileLimit = 32 * mebibyte;

/**
 * Reads `output -json`. An output in which `hides` finds a secret is sensitive. Throws StepFailedError
 * if the outputs are too large.
 */
async function metadataOf(file: string, hides: (value: unknown) => boolean): Promise<Outputs> {
  const { size } = await stat(file);
  if (size > outputsFileLimit)
    throw new StepFailedError(`the outputs have ${size} bytes, more than ${outputsFileLimit}`);
  return metadataFrom(parseExactly(await readFile(file, "utf8")) as Record<string, Output>, hides);
}
