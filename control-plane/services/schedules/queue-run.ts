/** The jobs of one run of a schedule: one, or under an approval rule a PLAN and then its DEPLOY. */
import { v7 as uuid } from "uuid";
import { day, minute } from "../../../common/units.ts";
import type { CreateJob } from "../../../protocol/jobs.ts";
import { hasEnded } from "../../domain/job.ts";
import { findSpec, type SpecRow } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { findJob, findStartedBefore } from "../../store/jobs/jobs.ts";
import { countOpenJobs } from "../../store/jobs/lists.ts";
import { findRun, postponeRuns, updateRun, type RunRow } from "../../store/schedules/rounds.ts";
import {
  findAnySchedule,
  updateSchedule,
  type ScheduleRow,
} from "../../store/schedules/schedules.ts";
import type { ScheduleOutcome } from "../../wakeups/wakeups.ts";
import { findState } from "../../store/states/states.ts";
import type { Context } from "../context.ts";
import { driftCheckOf } from "../drift/checks.ts";
import { recordEvent } from "../events/record.ts";
import { queueJobs } from "../jobs/create.ts";
import { scheduleCreator } from "../jobs/creator.ts";
import { isApplyable } from "../plans/applyable.ts";

/** How long a run waits for room in the queue. */
const patienceMilliseconds = day;
const repeatMilliseconds = minute;

export const stillOpen = "an earlier run of the schedule still waits or runs";

export const scheduleActor = ({ id, name }: Pick<ScheduleRow, "id" | "name">) =>
  ({ kind: "schedule", id, name: `${name} (schedule)`, origin: null }) as const;

/** What a run does next. Neither: it is over. */
interface Next {
  readonly input?: CreateJob;
  /** Whether a DEPLOY of the job follows. */
  readonly isPlan?: boolean;
  readonly skipped?: string;
}

export async function queueRun(context: Context, run: RunRow): Promise<void> {
  const { store, now, quotas, wakeups } = context;
  const { schedule_id, spec_id, owner_id: owner } = run;
  const schedule = await store.read.first(findAnySchedule, { id: schedule_id });
  if (!schedule) return;
  const spec = await store.read.first(findSpec, { id: spec_id, owner });
  const {
    input,
    isPlan = false,
    skipped,
  } = spec && isOfSchedule(schedule, spec) ? await nextOf(store.read, schedule, run, spec) : {};
  // Schedules leave the other half of the queue to people.
  const limit = Math.ceil(quotas.queuedJobs / 2);
  const isFull = async (queries: Queries): Promise<boolean> =>
    run.queue_class > 0 &&
    (await countOpenJobs(queries, { owner, status: "QUEUED", limit })) >= limit;
  const end = async (reason: string | undefined, outcome: ScheduleOutcome) => {
    const isEnded = await store.write(async (tx) => {
      if (!(await isCurrent(tx, run))) return false;
      if (reason !== undefined) await noteSkipped(tx, schedule, run, reason, now());
      await updateRun(tx, run, { due_at: null, job_id: run.plan_job_id });
      return reason !== undefined;
    });
    if (isEnded) wakeups.notify("schedule_run", outcome);
  };
  if (!input) return end(skipped, "nothing_deployed");
  // Before the job is drafted, and all at once: a zone may have thousands of runs that wait for room.
  const at = now();
  const since = at - patienceMilliseconds;
  if (run.moment > since && (await isFull(store.read))) {
    const runs = { owner, now: at, since, until: at + repeatMilliseconds };
    return store.write((tx) => tx.run(postponeRuns, runs));
  }
  const id = uuid();
  const by = scheduleCreator(schedule, run);
  let outcome: "queued" | "queue_full" | undefined;
  const refused = await queueJobs(context, owner, [{ id, by, input }], async (tx) => {
    outcome = undefined;
    if (!(await isCurrent(tx, run))) return undefined;
    const at = now();
    if (await isFull(tx)) {
      if (run.moment > at - patienceMilliseconds)
        await updateRun(tx, run, { due_at: at + repeatMilliseconds });
      else outcome = "queue_full";
      return undefined;
    }
    await updateRun(tx, run, { [isPlan ? "plan_job_id" : "job_id"]: id, due_at: null });
    const last = { last_at: at, last_job_id: id, last_skipped: null };
    await updateSchedule(tx, schedule_id, last);
    outcome = "queued";
    return new Set();
  });
  if (refused) await end(refused.message, "refused");
  else if (outcome === "queued") wakeups.notify("schedule_run", outcome);
  else if (outcome)
    await end(
      `half of the jobs that the space may have in its queue (${limit}) have waited for a day`,
      outcome,
    );
}

/** A configuration may have left the zone since its run began. */
const isOfSchedule = ({ spec_id, zone_id }: ScheduleRow, spec: SpecRow): boolean =>
  spec_id === spec.id || (zone_id !== null && zone_id === spec.zone_id);

/** After a failure of the server. */
export async function delayRun({ store, now }: Context, run: RunRow): Promise<void> {
  await store.write(async (tx) => {
    if (await isCurrent(tx, run)) await updateRun(tx, run, { due_at: now() + repeatMilliseconds });
  });
}

async function nextOf(
  read: Queries,
  { kind, enabled, zone_id }: ScheduleRow,
  { plan_job_id, queue_class }: RunRow,
  spec: SpecRow,
): Promise<Next> {
  const { id: configuration_id } = spec;
  if (plan_job_id !== null) {
    // Disabled since, so nothing more is applied, unless a person has asked for this run.
    if (enabled === 0 && queue_class > 0) return {};
    const plan = await read.first(findJob, { id: plan_job_id });
    if (plan && !hasEnded(plan)) return {};
    const isDue = plan?.status === "SUCCESS" && (await isApplyable(read, plan_job_id));
    return isDue ? { input: { job_type: "DEPLOY", configuration_id, plan_job_id } } : {};
  }
  if (kind === "plan") return { input: { job_type: "PLAN", configuration_id } };
  const destroy = kind === "destroy";
  const isNeeded = destroy || kind === "drift";
  if (isNeeded && (await isNothingDeployed(read, spec))) {
    // Of a zone, a configuration that is not deployed is nothing to tell of.
    if (zone_id !== null) return {};
    return {
      skipped: `nothing of the configuration is deployed, so there is nothing to ${destroy ? "destroy" : "check"}`,
    };
  }
  if (kind === "drift") return { input: driftCheckOf(configuration_id) };
  if (spec.approval_when !== null)
    return {
      input: { job_type: "PLAN", configuration_id, ...(destroy ? { destroy } : {}) },
      isPlan: true,
    };
  return { input: { job_type: destroy ? "DESTROY" : "DEPLOY", configuration_id } };
}

/** Whether neither a job may have made anything nor a state records anything. */
async function isNothingDeployed(read: Queries, { id: spec, status }: SpecRow): Promise<boolean> {
  const state = await read.first(findState, { spec });
  if (state && state.resource_count !== 0) return false;
  if (status === "NEW" || status === "DESTROYED") return true;
  return !(await read.first(findStartedBefore, { spec, claimed_at: Number.MAX_SAFE_INTEGER }));
}

/** Says once why a run did not follow the one before. */
export async function noteSkipped(
  tx: Queries,
  schedule: ScheduleRow,
  before: RunRow,
  reason: string,
  now: number,
): Promise<void> {
  const { id, name, owner_id: owner } = schedule;
  await updateSchedule(tx, id, { last_at: now, last_job_id: null, last_skipped: reason });
  if (before.skipped !== null) return;
  await updateRun(tx, before, { skipped: reason });
  await recordEvent(tx, now, {
    type: "schedule.skipped",
    owner,
    configuration: before.spec_id,
    by: scheduleActor(schedule),
    data: { reason, schedule: { id, name } },
  });
}

/** Whether no other server, and no change of the schedule, has come before. */
async function isCurrent(tx: Queries, run: RunRow): Promise<boolean> {
  const now = await tx.first(findRun, { schedule: run.schedule_id, spec: run.spec_id });
  return (
    now?.due_at === run.due_at && now.moment === run.moment && now.plan_job_id === run.plan_job_id
  );
}
