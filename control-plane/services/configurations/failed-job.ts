import type { FailedJob } from "../../../protocol/failed-job.ts";
import type { SpecRow } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findFailedJob as findRow } from "../../store/jobs/jobs.ts";
import { time, timeOrNull } from "../../domain/moments.ts";

/** Returns it; null if there is none, or if its runner has reported another end meanwhile. */
export async function findFailedJob(
  queries: Queries,
  { failed_job_id: id }: Pick<SpecRow, "failed_job_id">,
): Promise<FailedJob | null> {
  const row = id === null ? undefined : await queries.first(findRow, { id });
  if (row?.status !== "FAILED" && row?.status !== "CANCELLED") return null;
  const { status, started_at, ended_at } = row;
  return { ...row, status, started_at: timeOrNull(started_at), ended_at: time(ended_at ?? 0) };
}

/** A cancelled job restores FAILED, so the message of a failure is kept until a job succeeds. */
export const shownError = ({
  status,
  error_message,
}: Pick<SpecRow, "status" | "error_message">): string | null =>
  status === "FAILED" ? error_message : null;
