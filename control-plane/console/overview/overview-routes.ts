/** The overview. */
import type { JobStatus } from "../../../protocol/jobs.ts";
import { mayDo } from "../../domain/roles.ts";
import { listWaitingDeployments } from "../../services/approvals/waiting.ts";
import type { Context } from "../../services/context.ts";
import {
  listFailedConfigurations,
  listLockedConfigurations,
} from "../../services/configurations/attention.ts";
import { listRuns } from "../../services/jobs/runs.ts";
import { findLastLine, findSteps } from "../../services/logs/progress.ts";
import { countChangedResources } from "../../services/logs/resources.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { countOpenJobs, listJobSummaries } from "../../services/jobs/jobs.ts";
import { latestVersion } from "../../services/releases/releases.ts";
import { countHeldJobs, listWorkers } from "../../services/workers/workers.ts";
import { overviewPage, recentJobs, recentRows, type RunningJob } from "./overview-page.ts";
import type { SignedIn } from "../signed-in.ts";
import { time } from "../../domain/moments.ts";

const shown = 100;
/** Running jobs whose resources are counted. */
const countedJobs = 20;
/** Deployments that wait for the reader, and the reader's own that wait for others. */
const waitingShown = 20;
/** Entries of each kind that need a person. */
const attentionShown = 10;
/** Counted exactly up to here: the page must cost the same however many there are. */
const countLimit = 1000;
/** How often an open page is redrawn, in seconds. */
const refresh = 2;

export function overviewPages(pages: SignedIn, context: Context): void {
  pages.get("/", "read", async (caller) => {
    const list = (status: JobStatus, limit: number) =>
      listJobSummaries(context, caller, { status, limit });
    const count = (status: "QUEUED" | "PROCESSING") =>
      countOpenJobs(context, caller, status, countLimit + 1);
    const [waiting, failed, locked, workers, runningCount, queuedCount, running, queued, ...ended] =
      await Promise.all([
        listWaitingDeployments(context, caller, waitingShown),
        listFailedConfigurations(context, caller, attentionShown),
        listLockedConfigurations(context, caller, attentionShown),
        listWorkers(context, caller, undefined, shown),
        count("PROCESSING"),
        count("QUEUED"),
        list("PROCESSING", shown),
        list("QUEUED", shown),
        list("SUCCESS", recentJobs),
        list("FAILED", recentJobs),
        list("CANCELLED", recentJobs),
      ]);
    const recent = ended
      .flat()
      .toSorted((a, b) => endOf(b).localeCompare(endOf(a)))
      .slice(0, recentJobs);
    const ids = new Set(recent.flatMap(({ configuration_id: id }) => id ?? []));
    const configurations = new Set([
      ...failed.map(({ id }) => id),
      ...[...ids].slice(0, recentRows),
    ]);
    const body = overviewPage({
      waiting: { ...waiting, isInTeam: caller.spaces.length > 1 },
      failed,
      locked,
      workers,
      held: await countHeldJobs(context, caller),
      runningCount: atMost(runningCount),
      queuedCount: atMost(queuedCount),
      running: await Promise.all(
        running.map((job, index) => withProgress(context, job, index < countedJobs)),
      ),
      queued,
      recent,
      runs: await listRuns(context, [...configurations]),
      mayAdd: mayDo(caller, "administer"),
      mayConfigure: mayDo(caller, "configure"),
      latest: await latestVersion(context),
      now: time(context.now()),
    });
    return { title: "Overview", body, at: "/", refresh };
  });
}

const atMost = (count: number): string =>
  count > countLimit ? `over ${countLimit.toLocaleString("en-US")}` : String(count);

async function withProgress(
  context: Context,
  job: JobSummary,
  isCounted: boolean,
): Promise<RunningJob> {
  const [steps, line, changed] = await Promise.all([
    findSteps(context, job.id),
    findLastLine(context, job.id),
    isCounted ? countChangedResources(context, job.id) : undefined,
  ]);
  return { job, step: steps.at(-1)?.name ?? null, line, changed };
}

const endOf = ({ ended_at, created_at }: JobSummary): string => ended_at ?? created_at;
