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
export async function checkQueuedJobs(
  { quotas }: Pick<Context, "quotas">,
  tx: Queries,
  owner: string,
): Promise<void> {
  const { queuedJobs: limit } = quotas;
  if ((await countOpenJobs(tx, { owner, status: "QUEUED", limit })) < limit) return;
  throw new QuotaExceededError(
    "queued_jobs",
    `${limit} jobs wait already; cancel some or let them run`,
  );
}

/** Refuses one more configuration. */
export async function checkConfigurations(
  { quotas }: Pick<Context, "quotas">,
  tx: Queries,
  owner: string,
): Promise<void> {
  const { configurations: limit } = quotas;
  if ((await listSpecIds(tx, owner, undefined, limit)).length < limit) return;
  throw new QuotaExceededError("configurations", `there are ${limit} configurations; delete some`);
}

/** Refuses so many more bytes of archives. */
export async function checkArchiveBytes(
  { quotas }: Pick<Context, "quotas">,
  tx: Queries,
  owner: string,
  bytes: number,
): Promise<void> {
  const { archiveBytes: limit } = quotas;
  const used = (await tx.first(findUsage, { owner }))?.archive_bytes ?? 0;
  if (used + bytes <= limit) return;
  throw new QuotaExceededError(
    "archive_bytes",
    `archives take ${mib(used)} of ${mib(limit)}, and this one has ${mib(bytes)}; unused ones are removed after a while`,
  );
}

/** Refuses so many more bytes of states, or a job that would write more when there is no room left. */
export async function checkStateBytes(
  { quotas }: Pick<Context, "quotas">,
  tx: Queries,
  owner: string,
  bytes = 0,
): Promise<void> {
  const { stateBytes: limit } = quotas;
  const used = (await tx.first(findUsage, { owner }))?.state_bytes ?? 0;
  if (bytes === 0 ? used < limit : used + bytes <= limit) return;
  throw new QuotaExceededError(
    "state_bytes",
    `states and their old versions take ${mib(used)} of ${mib(limit)}; destroy and delete configurations that are not needed`,
  );
}

const mib = (bytes: number): string => `${(bytes / mebibyte).toFixed(1)} MiB`;

/** A quota refuses a request. */
class QuotaExceededError extends RefusalError {
  readonly quota: Quota;

  constructor(quota: Quota, detail: string) {
    super("quota_exceeded", detail);
    this.quota = quota;
  }
}

/** Counts for the metrics that a quota refuses `request`: once, however often its transaction is run again. */
export async function countRefusal<T>(
  { wakeups }: Pick<Context, "wakeups">,
  request: Promise<T>,
): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof QuotaExceededError) wakeups.ring("quota", error.quota);
    throw error;
  }
}
