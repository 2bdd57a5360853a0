/** Reads what the page of a configuration shows. */
import { validate } from "uuid";
import type { CloudIdentity } from "../../../protocol/cloud-identities.ts";
import type { Configuration } from "../../../protocol/configurations.ts";
import type { StateLock, StateVersion } from "../../../protocol/state-versions.ts";
import type { ValueMarks } from "../../domain/snapshot.ts";
import { readValueMarks } from "../../services/configurations/configurations.ts";
import type { UserCaller } from "../../services/callers.ts";
import { listSetsOfConfiguration } from "../../services/variable-sets/attached.ts";
import { listVariableSetNames } from "../../services/variable-sets/lists.ts";
import { getCloudIdentity } from "../../services/identities/identities.ts";
import type { Context } from "../../services/context.ts";
import { listJobSummaries } from "../../services/jobs/jobs.ts";
import { listRuns, type Run } from "../../services/jobs/runs.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { findStateLock, listStateVersions } from "../../services/states/versions.ts";
import { getZoneName, type ZoneName } from "../../services/zones/zones.ts";
import { isOpen } from "../page/words.ts";
import type { SetsViewModel } from "../variable-sets/attached-view.ts";
import { time } from "../../domain/moments.ts";

/** A page of a list, newest first; `next` continues it. */
export interface Slice<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  readonly isFirst: boolean;
}

export interface ConfigurationViewModel {
  readonly configuration: Configuration;
  readonly marks: ValueMarks;
  readonly zone: ZoneName;
  readonly identity: CloudIdentity | null;
  /** The job that runs, or the one that waits for the longest. */
  readonly open: JobSummary | undefined;
  /** Those of the newest jobs that wait for approvals; they hold up no other. */
  readonly unapproved: readonly JobSummary[];
  readonly jobs: Slice<JobSummary>;
  /** The last runs, newest first. */
  readonly runs: readonly Run[];
  readonly versions: Slice<StateVersion>;
  readonly lock: StateLock | null;
  readonly sets: SetsViewModel;
  readonly now: string;
}

/** Jobs and versions at a time. */
const shown = 20;
/** Variable sets that can be chosen. */
const mostSets = 1000;

/** `query` may ask for older jobs or versions. */
export async function readConfigurationViewModel(
  context: Context,
  caller: UserCaller,
  configuration: Configuration,
  query: unknown,
): Promise<ConfigurationViewModel> {
  const { id, zone_id, cloud_identity_id } = configuration;
  const { jobs: job, versions: version } = query as Record<string, unknown>;
  const beforeJob = typeof job === "string" && validate(job) ? job : undefined;
  const isSerial = typeof version === "string" && /^\d{1,15}$/.test(version);
  const list = (before: string | undefined) =>
    listJobSummaries(context, caller, { configuration: id, before, limit: shown + 1 });
  const [marks, zone, identity, newest, jobs, runs, versions, lock, sets, all] = await Promise.all([
    readValueMarks(context, caller, id),
    getZoneName(context, caller, zone_id),
    cloud_identity_id === null ? null : getCloudIdentity(context, caller, cloud_identity_id),
    list(undefined),
    beforeJob === undefined ? undefined : list(beforeJob),
    listRuns(context, [id]),
    listStateVersions(context, caller, id, isSerial ? Number(version) : undefined, shown + 1),
    findStateLock(context, caller, id),
    listSetsOfConfiguration(context, caller, id),
    listVariableSetNames(context, caller, mostSets),
  ]);
  return {
    configuration,
    marks,
    zone,
    identity,
    open: newest.findLast(({ status, needs_approval }) => isOpen(status) && !needs_approval),
    unapproved: newest.filter(({ needs_approval }) => needs_approval),
    jobs: slice(jobs ?? newest, (one) => one.id, jobs === undefined),
    runs: runs.get(id) ?? [],
    versions: slice(versions, ({ serial }) => String(serial), !isSerial),
    lock,
    sets: { ...sets, all },
    now: time(context.now()),
  };
}

const slice = <T>(
  items: readonly T[],
  cursor: (item: T) => string,
  isFirst: boolean,
): Slice<T> => ({
  items: items.slice(0, shown),
  next: items.length > shown ? cursor(items[shown - 1]!) : undefined,
  isFirst,
});
