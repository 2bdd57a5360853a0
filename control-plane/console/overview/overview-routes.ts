/** The overview and the list of jobs. */
import { validate } from "uuid";
import { jobStatuses, type JobStatus } from "../../../protocol/jobs.ts";
import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import {
  listFailedConfigurations,
  listLockedConfigurations,
} from "../../services/configurations/attention.ts";
import { findLastLine, findSteps } from "../../services/jobs/progress.ts";
import type { JobSummary } from "../../services/jobs/views.ts";
import { countOpenJobs, listJobSummaries } from "../../services/jobs/jobs.ts";
import { latestVersion } from "../../services/releases/releases.ts";
import { countHeldJobs, listWorkers } from "../../services/workers/workers.ts";
import { sendPage } from "../page/layout.ts";
import { jobsPage } from "../jobs/jobs-page.ts";
import { overviewPage, type RunningJob } from "./overview-page.ts";
import type { SignedIn } from "../signed-in.ts";

const shown = 100;
const recentShown = 15;
/** Of each kind of thing that needs a person. */
const attentionShown = 10;
/** Counted exactly up to here: the page must cost the same however many there are. */
const countLimit = 1000;
/** How often an open page is redrawn, in seconds. */
const refresh = 2;

/** Adds them. */
export function overviewPages(signedIn: SignedIn, context: Context): void {
  signedIn("GET", "/", async (caller, _, reply) => {
    const list = (status: JobStatus, limit: number) =>
      listJobSummaries(context, caller, { status, limit });
    const count = (status: "QUEUED" | "PROCESSING") =>
      countOpenJobs(context, caller, status, countLimit + 1);
    const [failed, locked, workers, runningCount, queuedCount, running, queued, ...ended] =
      await Promise.all([
        listFailedConfigurations(context, caller, attentionShown),
        listLockedConfigurations(context, caller, attentionShown),
        listWorkers(context, caller, undefined, shown),
        count("PROCESSING"),
        count("QUEUED"),
        list("PROCESSING", shown),
        list("QUEUED", shown),
        list("SUCCESS", recentShown),
        list("FAILED", recentShown),
        list("CANCELLED", recentShown),
      ]);
    const recent = ended
      .flat()
      .toSorted((a, b) => endOf(b).localeCompare(endOf(a)))
      .slice(0, recentShown);
    const body = overviewPage({
      failed,
      locked,
      workers,
      held: await countHeldJobs(context, caller),
      runningCount: atMost(runningCount),
      queuedCount: atMost(queuedCount),
      running: await Promise.all(running.map((job) => withProgress(context, job))),
      queued,
      recent,
      latest: await latestVersion(context),
      now: nowOf(context),
    });
    sendPage(reply, { title: "Overview", body, email: caller.email, at: "/", refresh });
  });
  signedIn("GET", "/jobs", async (caller, { query }, reply) => {
    const { status, before } = filterOf(query);
    const jobs = await older(context, caller, status, before);
    const next = jobs.length > shown ? jobs[shown - 1]?.id : undefined;
    const body = jobsPage(jobs.slice(0, shown), status, next, nowOf(context));
    sendPage(reply, { title: "Jobs", body, email: caller.email, at: "/jobs", refresh });
  });
}

const atMost = (count: number): string =>
  count > countLimit ? `over ${countLimit.toLocaleString("en-US")}` : String(count);

const older = (
  context: Context,
  caller: UserCaller,
  status: JobStatus | undefined,
  before: string | undefined,
): Promise<JobSummary[]> => listJobSummaries(context, caller, { status, before, limit: shown + 1 });

async function withProgress(context: Context, job: JobSummary): Promise<RunningJob> {
  const [steps, line] = await Promise.all([
    findSteps(context, job.id),
    findLastLine(context, job.id),
  ]);
  return { job, step: steps.at(-1)?.name ?? null, line };
}

const nowOf = ({ now }: Context): string => new Date(now()).toISOString();

const endOf = ({ ended_at, created_at }: JobSummary): string => ended_at ?? created_at;

/** What is no status or no id filters nothing. */
function filterOf(query: unknown): { status: JobStatus | undefined; before: string | undefined } {
  const { status, before } = query as Record<string, unknown>;
  return {
    status: jobStatuses.find((one) => one === status),
    before: typeof before === "string" && validate(before) ? before : undefined,
  };
}
