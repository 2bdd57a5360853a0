/**
 * Reads the JSON of plans and outputs in a thread: a configuration controls its size, and one that
 * is too large fails its own job, not the small heap that all jobs share.
 */
import { statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
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

/** A smaller file is read sooner than a thread starts. */
const smallFile = mebibyte;
/** Terraform's JSON may be 16 times the plan, whose upload is limited to 50 MiB. */
const largestFile = gibibyte;
const threadHeapMebibytes = 128;

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
    return await (size <= smallFile ? readHere(reading) : readInThread(reading, stop));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "ERR_WORKER_OUT_OF_MEMORY"
        ? `its JSON (${size} bytes) does not fit into ${threadHeapMebibytes} MiB of memory: a value is too large`
        : message;
    throw new StepFailedError(`${reading.what}: cannot be read: ${why}`);
  }
}

async function readInThread(reading: Reading, stop: AbortSignal | undefined): Promise<Result> {
  const thread = new Worker(
    new URL(`./reader-thread${extname(import.meta.filename)}`, import.meta.url),
    {
      workerData: reading,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: threadHeapMebibytes, maxYoungGenerationSizeMb: 8 },
    },
  );
  const end = (): void => void thread.terminate();
  stop?.addEventListener("abort", end, { once: true });
  try {
    return await new Promise<Result>((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
      thread.once("exit", () => reject(new Error("the reading was stopped")));
      if (stop?.aborted) end();
    });
  } finally {
    stop?.removeEventListener("abort", end);
    await thread.terminate();
  }
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
