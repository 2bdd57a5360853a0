/**
 * Reads what terraform has written about a job in a thread with a heap of its own. A configuration decides how large plans and outputs
 * are; one that does not fit ends its own job and not the agent, whose heap is small and shared by all jobs.
 */
import { statSync } from "node:fs";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { StepFailed } from "../context.ts";
import { metadataOf, type Outputs } from "../outcome.ts";
import { readPlan, type PlanFacts } from "./json.ts";
import { maskerFor } from "../secrets.ts";
import { gibibyte, mebibyte } from "../../../common/units.ts";

/** What the thread is to read. */
export interface Reading {
  readonly what: "plan" | "outputs";
  readonly file: string;
  /** For the names in a plan. */
  readonly secrets: readonly string[];
}

/** A file up to this size is read at once: a thread takes longer to start than that takes to read. */
const smallFile = mebibyte;
/** Terraform's JSON may be 16 times the plan, whose upload is limited to 50 MiB. */
const largestFile = gibibyte;
const threadHeapMebibytes = 128;

/** What a plan would do. Throws StepFailed when it cannot be read. */
export const readPlanApart = (
  file: string,
  secrets: readonly string[],
  stop: AbortSignal,
): Promise<PlanFacts> => read({ what: "plan", file, secrets }, stop) as Promise<PlanFacts>;

/** The outputs. Throws StepFailed when they cannot be read. */
export const readOutputsApart = (file: string): Promise<Outputs> =>
  read({ what: "outputs", file, secrets: [] }) as Promise<Outputs>;

/** Does the reading in this thread. */
export const readHere = ({ what, file, secrets }: Reading): Promise<PlanFacts | Outputs> =>
  what === "plan" ? readPlan(file, maskerFor(secrets)) : metadataOf(file);

async function read(reading: Reading, stop?: AbortSignal): Promise<PlanFacts | Outputs> {
  const { size } = statSync(reading.file);
  try {
    if (size > largestFile) throw new Error(`${size} bytes of JSON are over ${largestFile}`);
    return await (size <= smallFile ? readHere(reading) : readInThread(reading, stop));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "ERR_WORKER_OUT_OF_MEMORY"
        ? `${size} bytes of JSON do not fit into ${threadHeapMebibytes} MiB of memory: a value is too large`
        : message;
    throw new StepFailed(`${reading.what}: cannot be read: ${why}`);
  }
}

async function readInThread(
  reading: Reading,
  stop: AbortSignal | undefined,
): Promise<PlanFacts | Outputs> {
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
    return await new Promise<PlanFacts | Outputs>((resolve, reject) => {
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
