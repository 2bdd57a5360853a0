/**
 * Quotas of an owner. They are judged when a person creates something, in its transaction, and never when a running job saves its state.
 */
import type { Quota } from "../../domain/quotas.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { countOpenJobs } from "../../store/jobs/lists.ts";
import { findUsage } from "../../store/storage/quotas.ts";
import { listSpecIds } from "../../store/configurations/configurations.ts";
import type { Context } from "../context.ts";
import { mebibyte } from "../../../common/units.ts";

/** Refuses one more queued job. */
export async function checkQueuedJobs(context: Context, tx: Queries, owner: string): Promise<void> {
  const { queuedJobs: limit } = context.quotas;
  if ((await countOpenJobs(tx, { owner, status: "QUEUED", limit })) < limit) return;
  throw exceeded(context, "queued_jobs", `${limit} jobs wait already; cancel some or let them run`);
}

/** Refuses one more configuration. */
export async function checkConfigurations(
  context: Context,
  tx: Queries,
  owner: string,
): Promise<void> {
  const { configurations: limit } = context.quotas;
  if ((await listSpecIds(tx, owner, undefined, limit)).length < limit) return;
  throw exceeded(context, "configurations", `there are ${limit} configurations; delete some`);
}

/** Refuses so many more bytes of archives. */
export async function checkArchiveBytes(
  context: Context,
  tx: Queries,
  owner: string,
  bytes: number,
): Promise<void> {
  const { archiveBytes: limit } = context.quotas;
  const used = (await tx.first(findUsage, { owner }))?.archive_bytes ?? 0;
  if (used + bytes <= limit) return;
  throw exceeded(
    context,
    "archive_bytes",
    `archives take ${mib(used)} of ${mib(limit)}, and this one has ${mib(bytes)}; unused ones are removed after a while`,
  );
}

/** Refuses so many more bytes of states, or a job that would write more when there is no room left. */
export async function checkStateBytes(
  context: Context,
  tx: Queries,
  owner: string,
  bytes = 0,
): Promise<void> {
  const { stateBytes: limit } = context.quotas;
  const used = (await tx.first(findUsage, { owner }))?.state_bytes ?? 0;
  if (bytes === 0 ? used < limit : used + bytes <= limit) return;
  throw exceeded(
    context,
    "state_bytes",
    `states and their old versions take ${mib(used)} of ${mib(limit)}; destroy and delete configurations that are not needed`,
  );
}

const mib = (bytes: number): string => `${(bytes / mebibyte).toFixed(1)} MiB`;

function exceeded({ wakeups }: Context, quota: Quota, detail: string): RefusalError {
  wakeups.ring("quota", quota);
  return new RefusalError("quota_exceeded", detail);
}
