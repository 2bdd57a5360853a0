/** Checked in the transaction of what a user creates, never when a job saves its state. */
import type { Quota } from "../../domain/quotas.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { countOpenJobs } from "../../store/jobs/lists.ts";
import { countOwned, findUsage } from "../../store/storage/quotas.ts";
import { countCreatedTeams } from "../../store/teams/members.ts";
import type { Context } from "../context.ts";
import { mebibyte } from "../../../common/units.ts";

/**
 * What a space may have only so many of, and a user of teams: how it is counted, up to the limit,
 * and what is said then.
 */
const counted = {
  queuedJobs: {
    quota: "queued_jobs",
    count: (tx, owner, limit) => countOpenJobs(tx, { owner, status: "QUEUED", limit }),
    detail: (limit) =>
      `${limit} jobs of this space are queued, which is the limit (WINDLASS_QUOTA_QUEUED_JOBS): cancel some of them or wait until they have run`,
  },
  configurations: {
    quota: "configurations",
    count: (tx, owner, limit) => countOwned(tx, "configurations", owner, limit),
    detail: (limit) =>
      `this space has ${limit} configurations, which is the limit (WINDLASS_QUOTA_CONFIGURATIONS): delete some of them`,
  },
  variableSets: {
    quota: "variable_sets",
    count: (tx, owner, limit) => countOwned(tx, "variableSets", owner, limit),
    detail: (limit) =>
      `this space has ${limit} variable sets, which is the limit (WINDLASS_QUOTA_VARIABLE_SETS): delete some of them`,
  },
  workers: {
    quota: "workers",
    count: (tx, owner, limit) => countOwned(tx, "workers", owner, limit),
    detail: (limit) =>
      `this space has ${limit} workers, which is the limit (WINDLASS_QUOTA_WORKERS): remove those that are gone`,
  },
  zones: {
    quota: "zones",
    count: (tx, owner, limit) => countOwned(tx, "zones", owner, limit),
    detail: (limit) =>
      `this space has ${limit} zones, which is the limit (WINDLASS_QUOTA_ZONES): delete some of them`,
  },
  identities: {
    quota: "identities",
    count: (tx, owner, limit) => countOwned(tx, "identities", owner, limit),
    detail: (limit) =>
      `this space has ${limit} cloud identities, which is the limit (WINDLASS_QUOTA_IDENTITIES): delete some of them`,
  },
  teams: {
    quota: "teams",
    count: async (tx, user) => (await tx.first(countCreatedTeams, { user }))?.count ?? 0,
    detail: (limit) =>
      `you are a member of ${limit} teams that you created, which is the limit (WINDLASS_QUOTA_TEAMS): delete or leave some of them`,
  },
} satisfies Record<
  string,
  {
    quota: Quota;
    count: (tx: Queries, owner: string, limit: number) => Promise<number>;
    detail: (limit: number) => string;
  }
>;
type Counted = keyof typeof counted;

/** Refuses this many more. */
export async function checkCount(
  { quotas }: Pick<Context, "quotas">,
  tx: Queries,
  owner: string,
  what: Counted,
  more = 1,
): Promise<void> {
  const limit = quotas[what];
  if (more === 0 || (await counted[what].count(tx, owner, limit)) + more <= limit) return;
  throw new QuotaExceededError(counted[what].quota, counted[what].detail(limit));
}

/** Refuses this many more bytes of archives. */
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
    `the archives of this space have ${mib(used)} of at most ${mib(limit)} (WINDLASS_QUOTA_ARCHIVE_MIB), and this one has ${mib(bytes)}; retention removes unused archives`,
  );
}

/** Also refuses a job that would write more if the quota is used up. */
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
    `the states of this space and their old versions have ${mib(used)} of at most ${mib(limit)} (WINDLASS_QUOTA_STATE_MIB): destroy and delete configurations that you do not need`,
  );
}

export const mib = (bytes: number): string => `${(bytes / mebibyte).toFixed(1)} MiB`;

class QuotaExceededError extends RefusalError {
  readonly quota: Quota;

  constructor(quota: Quota, detail: string) {
    super("quota_exceeded", detail);
    this.quota = quota;
  }
}

/** Counts a refusal once, however often the transaction is run again. */
export async function countRefusal<T>(
  { wakeups }: Pick<Context, "wakeups">,
  request: Promise<T>,
): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof QuotaExceededError) wakeups.notify("quota", error.quota);
    throw error;
  }
}
