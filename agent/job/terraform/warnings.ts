/** Reads the warnings of terraform in what a job's commands have printed, for the job's page. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { terraformWarningsIn } from "../../../common/terraform-diagnostics.ts";
import { kibibyte } from "../../../common/units.ts";
import type { JobWarning } from "../../../protocol/job-warnings.ts";
import { jobWarningLimits as limits } from "../../../protocol/limits.ts";
import type { JobContext } from "../context.ts";
import { maskerOf } from "../secrets.ts";

/** Terraform prints warnings at its end, before at most its outputs. */
const readLimit = 512 * kibibyte;

type Known = Pick<JobContext, "claim" | "journal" | "settings" | "directory" | "workspace">;

/** Returns each warning once, in the order of the commands. */
export async function warningsOf(context: Known): Promise<JobWarning[]> {
  const { directory, journal, workspace } = context;
  const mask = maskerOf(context);
  const runs = journal.entries.flatMap((entry) =>
    entry.at === "run" && entry.logged ? [entry.run] : [],
  );
  const texts = await Promise.all(
    // The result of the job is kept even if a warning cannot be read.
    runs.map((run) => readEnd(join(directory, "runs", run, "stdout")).catch(() => "")),
  );
  // Users do not know the places of the agent.
  const shown = (text: string, limit: number): string =>
    cut(mask(text.replaceAll(`${workspace.root}/`, "").replaceAll(/\s+/g, " ")), limit);
  const warnings = texts
    // A secret of several lines is known only as terraform has printed it.
    .flatMap((text) => terraformWarningsIn(mask(text)))
    .map(({ summary, detail, address, file, line }): JobWarning => ({
      summary: shown(summary, limits.summary),
      ...(detail === "" ? {} : { detail: shown(detail, limits.detail) }),
      ...(address === null ? {} : { address: shown(address, limits.place) }),
      ...(file === null || line === null ? {} : { file: shown(file, limits.place), line }),
    }));
  const once = new Map(warnings.map((warning) => [JSON.stringify(warning), warning]));
  return [...once.values()].slice(0, limits.count);
}

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1).toWellFormed()}…`;

async function readEnd(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - readLimit);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(readLimit), 0, readLimit, start);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
