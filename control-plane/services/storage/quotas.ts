/** Checked in the transaction of what a user creates, never when a job saves its state. */
import type { Quota } from "../../domain/quotas.ts";
import { RefusalError } from "../../domain/refusal.ts";
import type { Queries } from "../../store/db.ts";
import { asSystem } from "../../store/spaces.ts";
import { countOpenJobs } from "../../store/jobs/lists.ts";
import { countOwned, findUsage } from "../../store/storage/quotas.ts";
import { countCreatedTeams } from "../../store/teams/members.ts";
import type { Context } from "../context.ts";
import { mebibyte } from "../../../common/units.ts";

interface CountedQuota {
  readonly quota: Quota;
  /** Up to the limit, of a space or of a user. */
  readonly count: (tx: Queries, owner: string, limit: number) => Promise<number>;
  readonly has: (limit: number) => string;
  readonly advice: string;
}
type Counted =
  | "queuedJobs"
  | "configurations"
  | "variableSets"
  | "workers"
  | "zones"
  | "identities"
  | "teams";

const counted: Readonly<Record<Counted, CountedQuota>> = {
  queuedJobs: {
    quota: "queued_jobs",
    count: (tx, owner, limit) => countOpenJobs(tx, { owner, status: "QUEUED", limit }),
    has: (limit) => `${limit} jobs of this space are queued`,
    advice: "cancel some of them or wait until they have run",
  },
  configurations: owned("configurations", "configurations", "configurations"),
  variableSets: owned("variable_sets", "variableSets", "variable sets"),
  workers: owned("workers", "workers", "workers", "remove those that are gone"),
  zones: owned("zones", "zones", "zones"),
  identities: owned("identities", "identities", "cloud identities"),
  teams: {
    quota: "teams",
    count: async (tx, user) => (await tx.first(countCreatedTeams, { user }))?.count ?? 0,
    has: (limit) => `you are a member of ${limit} teams that you created`,
    advice: "delete or leave some of them",
  },
};

function owned(
  quota: Quota,
  table: Parameters<typeof countOwned>[1],
  name: string,
  advice = "delete some of them",
): CountedQuota {
  return {
    quota,
    count: (tx, owner, limit) => countOwned(tx, table, owner, limit),
    has: (limit) => `this space has ${limit} ${name}`,
    advice,
  };
}

/** Refuses this many more. */
export async function checkCount(
  { quotas }: Pick<Context, "quotas">,
  tx: Queries,
  owner: string,
  what: Counted,
  more = 1,
): Promise<void> {
  const limit = quotas[what];
  const { quota, count, has, advice } = counted[what];
  if (more === 0) return;
  // As the system: also what the caller does not see.
  if ((await asSystem(() => count(tx, owner, limit))) + more <= limit) return;
  const setting = `WINDLASS_QUOTA_${quota.toUpperCase()}`;
  throw new QuotaExceededError(quota, `${has(limit)}, which is the limit (${setting}): ${advice}`);
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
