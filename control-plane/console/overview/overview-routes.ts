import type { JobStatus } from "../../../protocol/jobs.ts";
import { mayDo } from "../../domain/roles.ts";
import { listWaitingDeployments } from "../../services/approvals/waiting.ts";
import type { Context } from "../../services/context.ts";
import {
  countDriftedConfigurations,
  listDriftedConfigurations,
  listFailedConfigurations,
  listLockedConfigurations,
  listWarnedConfigurations,
} from "../../services/configurations/attention.ts";
import { listBrokenConnections } from "../../services/connections/attention.ts";
import { listFailingRules } from "../../services/notifications/attention.ts";
import {
  listEndingConfigurations,
  listSkippedSchedules,
} from "../../services/schedules/attention.ts";
import { listTiles } from "../../services/configurations/tiles.ts";
import { listRuns } from "../../services/jobs/runs.ts";
import { findLastLine, findSteps } from "../../services/logs/progress.ts";
import { countChangedResources } from "../../services/logs/resources.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { countOpenJobs, listJobSummaries } from "../../services/jobs/jobs.ts";
import { seesWholeSpace } from "../../services/teams/spaces.ts";
import { listWorkers } from "../../services/workers/workers.ts";
import { stripRuns, tilesLimit } from "./fleet-view.ts";
import { inboxLimit } from "./inbox-view.ts";
import { countLimit, jobsShown, overviewPage, type RunningJob } from "./overview-page.ts";
import { inWholeSpace } from "../page/in-space.ts";
import type { SignedIn } from "../signed-in.ts";
import { time } from "../../domain/moments.ts";

/** Queued jobs among which those that are stuck are looked for, and workers. */
const searched = 100;
/** Deployments that wait for the reader, and the reader's own that wait for others. */
const waitingShown = 20;
/** How often an open page is redrawn, in seconds. */
const refresh = 2;

export function overviewPages(pages: SignedIn, context: Context): void {
  pages.get("/", "read", async (caller) => {
    const list = (limit: number, status?: JobStatus) =>
      listJobSummaries(context, caller, { status, limit });
    const count = (status: "QUEUED" | "PROCESSING") =>
      countOpenJobs(context, caller, status, countLimit + 1);
    // What belongs to no zone.
    const ofSpace = <T>(list: () => Promise<readonly T[]>) =>
      seesWholeSpace(caller) ? list() : [];
    const [
      waiting,
      failed,
      warned,
      drifted,
      locked,
      ending,
      skipped,
      broken,
      silent,
      workers,
      runningCount,
      queuedCount,
      driftedCount,
      running,
      queued,
      newest,
    ] = await Promise.all([
      listWaitingDeployments(context, caller, waitingShown),
      listFailedConfigurations(context, caller, inboxLimit),
      listWarnedConfigurations(context, caller, inboxLimit),
      listDriftedConfigurations(context, caller, inboxLimit),
      listLockedConfigurations(context, caller, inboxLimit),
      listEndingConfigurations(context, caller, inboxLimit),
      listSkippedSchedules(context, caller, inboxLimit),
      ofSpace(() => listBrokenConnections(context, caller, inboxLimit)),
      ofSpace(() => listFailingRules(context, caller, inboxLimit)),
      ofSpace(() => listWorkers(context, caller, undefined, searched)),
      count("PROCESSING"),
      count("QUEUED"),
      countDriftedConfigurations(context, caller, countLimit + 1),
      list(jobsShown, "PROCESSING"),
      list(searched, "QUEUED"),
      list(searched),
    ]);
    const jobs = [...running, ...newest].flatMap(({ configuration_id: id }) => id ?? []);
    const active = [...failed.map(({ id }) => id), ...jobs];
    const fleet = await listTiles(context, caller, active, tilesLimit);
    const body = overviewPage({
      ...waiting,
      failed,
      warned,
      drifted,
      locked,
      ending,
      skipped,
      broken,
      silent,
      workers,
      runningCount,
      queuedCount,
      driftedCount,
      running: await Promise.all(running.map((job) => withProgress(context, job))),
      queued,
      fleet: {
        ...fleet,
        runs: await listRuns(
          context,
          fleet.tiles.map(({ id }) => id),
          stripRuns,
        ),
      },
      seesWorkers: seesWholeSpace(caller),
      mayAdd: mayDo(inWholeSpace(caller), "administer"),
      mayCreateZone: mayDo(inWholeSpace(caller), "configure"),
      mayConfigure: mayDo(caller, "configure"),
      now: time(context.now()),
    });
    return { title: "Overview", body, at: "/", refresh };
  });
}

async function withProgress(context: Context, job: JobSummary): Promise<RunningJob> {
  const [steps, line, changed] = await Promise.all([
    findSteps(context, job.id),
    findLastLine(context, job.id),
    countChangedResources(context, job.id),
  ]);
  return { job, step: steps.at(-1)?.name ?? null, line, changed };
}
