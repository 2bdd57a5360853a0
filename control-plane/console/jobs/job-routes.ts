/** The page of a job, its raw log, and what a person does with it. */
import { Readable } from "node:stream";
import { validate } from "uuid";
import type { Job } from "../../../protocol/jobs.ts";
import type { UserCaller } from "../../services/callers.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { refusalOf } from "../../http/problem.ts";
import type { Context } from "../../services/context.ts";
import { decideJob } from "../../services/approvals/approvals.ts";
import { findMayDecide } from "../../services/approvals/may-decide.ts";
import { findRule } from "../../services/approvals/views.ts";
import { findSteps } from "../../services/logs/progress.ts";
import { findResources } from "../../services/logs/resources.ts";
import { findRetry, retryJob } from "../../services/jobs/retry.ts";
import {
  cancelJob,
  createJob,
  findJobCancel,
  findJobIds,
  getJob,
} from "../../services/jobs/jobs.ts";
import { findErrors } from "../../services/logs/errors.ts";
import { checkOwnJob, readLog } from "../../services/logs/logs.ts";
import { WholeLines } from "../../services/logs/whole-lines.ts";
import { getPlanSummary } from "../../services/plans/summaries.ts";
import { isIdStart } from "../../services/search/search.ts";
import { getWorker } from "../../services/workers/workers.ts";
import { waitsForApproval } from "../approvals/approval-view.ts";
import { jobPage, titleOf } from "./job-page.ts";
import type { JobViewModel } from "./job-view-model.ts";
import type { LogStart } from "../logs/log-view.ts";
import { idIn } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { withoutControlSequences } from "../../../common/control-sequences.ts";
import { time } from "../../domain/moments.ts";

/** Characters of the log that a browser without a script gets at once. */
const startLength = 64 * 1024;

/** Seconds; a change of status redraws the page at once. */
const refresh = 2;

/** Seconds: decisions arrive with the stream of the log, and the page has the whole plan. */
const refreshWaiting = 10;

/** Limit of attributes as JSON on a page drawn every two seconds; larger plans get a link. */
const mostOften = 64 * 1024;

export function jobPages(pages: SignedIn, context: Context): void {
  pages
    .page("/jobs/:id", "getJob", {
      find: async (caller: UserCaller, params) => {
        const { id } = params as { id: string };
        const isShort = !validate(id);
        const whole = isShort ? await findByStart(context, caller, id) : id;
        return {
          isShort,
          job: await getJob(context, caller, whole, { progress: false, review: true }),
        };
      },
      draw: async ({ isShort, job }, { caller, request, forms }) => {
        const { id } = job;
        if (isShort) return `/jobs/${id}`;
        const isWaiting = waitsForApproval(job);
        const isOver =
          job.ended_at !== null && (job.claimed_at === null || job.released_at !== null);
        const isOften = job.plan_job_id !== null && !isOver && !isWaiting;
        const [worker, { plan_summary: plan, ...use }, cancel, retry, rule, mayDecide, told] =
          await Promise.all([
            findWorker(context, caller, job),
            getPlanSummary(context, caller, id, isOften ? { mostAttributes: mostOften } : {}),
            findJobCancel(context, caller, id),
            findRetry(context, caller, job),
            findRule(context, caller, job.configuration_id),
            findMayDecide(context, caller, job),
            readLogParts(context, job).catch((error: unknown) =>
              withoutLog(refusalOf(error, request).message),
            ),
          ]);
        const isPartial = job.job_type === "PLAN" && plan?.complete === false;
        const deployment =
          isPartial && use.deploy_job_id !== null
            ? await getJob(context, caller, use.deploy_job_id, { progress: false })
            : null;
        const now = time(context.now());
        const about = { job, worker, plan, use, deployment, cancel, retry, rule, mayDecide, now };
        const body = jobPage({ ...about, ...told, form: forms("job") });
        const page = { title: titleOf(job), body, at: "/jobs" };
        const often = isWaiting ? refreshWaiting : refresh;
        return isOver ? page : { ...page, refresh: often };
      },
    })
    .form("job", "decideJob", {
      path: "/approvals",
      input: (form) => ({ decision: form.text("decision"), comment: form.word("comment") || null }),
      submit: async ({ caller, thing: { job }, input }) => {
        await decideJob(context, caller, job.id, input());
        return `/jobs/${job.id}`;
      },
    })
    .form("job", "cancelJob", {
      path: "/cancel",
      needs: "plan",
      submit: async ({ caller, thing: { job } }) => {
        await cancelJob(context, caller, job.id);
        return `/jobs/${job.id}`;
      },
    })
    .form("job", "retryJob", {
      path: "/retry",
      needs: "plan",
      submit: async ({ caller, thing: { job } }) => {
        // A page that was open for long may offer what was done since.
        const made =
          (await findRetry(context, caller, job)) ?? (await retryJob(context, caller, job.id));
        return `/jobs/${made.id}`;
      },
    })
    .form("job", "createJob", {
      path: "/deploy",
      needs: "deploy",
      input: (form, { job }) => ({
        job_type: "DEPLOY",
        configuration_id: job.configuration_id,
        plan_job_id: job.id,
        debug: form.isOn("debug"),
      }),
      submit: async ({ caller, thing: { job }, input }) => {
        if (job.configuration_id === null) throw notFound("configuration any more");
        return `/jobs/${(await createJob(context, caller, input())).id}`;
      },
    });
  pages.get("/jobs/:id/log", "getJobLogs", async (caller, { params }, reply) => {
    const id = idIn(params, "job");
    await checkOwnJob(context, caller, id);
    reply
      .headers({
        "content-type": "text/plain; charset=utf-8",
        "content-disposition": `attachment; filename="job-${id}.log"`,
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      })
      .send(Readable.from(textOf(context, id), { highWaterMark: 0 }));
  });
}

type LogParts = Pick<JobViewModel, "log" | "steps" | "resources" | "errors">;

async function readLogParts(context: Context, job: Job): Promise<LogParts> {
  const [log, steps, resources, errors] = await Promise.all([
    beginningOf(context, job),
    findSteps(context, job.id),
    findResources(context, job),
    job.error_message !== null && job.log_pruned_at === null ? findErrors(context, job.id) : [],
  ]);
  return { log, steps, resources, errors };
}

/** A log that cannot be read now does not hide the rest of the page. */
const withoutLog = (unreadable: string): LogParts => ({
  log: { text: "", isCut: false, unreadable },
  steps: [],
  resources: { list: [], until: 0 },
  errors: [],
});

/** Returns the id of the only job whose id begins so: the client prints short ids. */
async function findByStart(context: Context, caller: UserCaller, id_prefix: string) {
  const { items } = isIdStart(id_prefix)
    ? await findJobIds(context, caller, { id_prefix }, { limit: 2 })
    : { items: [] };
  const [id, other] = items;
  if (id === undefined) throw notFound("job");
  if (other !== undefined)
    throw new RefusalError("not_found", `the ids of several jobs begin with ${id_prefix}`);
  return id;
}

/** Jobs of a removed worker are still shown. */
async function findWorker(context: Context, caller: UserCaller, { worker_id }: Job) {
  if (worker_id === null) return null;
  try {
    return await getWorker(context, caller, worker_id);
  } catch (error) {
    if (error instanceof RefusalError && error.code === "not_found") return null;
    throw error;
  }
}

async function* textOf(context: Context, job: string): AsyncGenerator<string> {
  const lines = new WholeLines();
  let after = 0;
  for (;;) {
    const { logs, isLast } = await readLog(context, job, after);
    const text = logs.map((chunk) => lines.add(chunk)).join("") + (isLast ? lines.end() : "");
    if (text !== "") yield text;
    if (isLast) return;
    after = logs.at(-1)?.id ?? after;
  }
}

async function beginningOf(context: Context, { id, log_pruned_at }: Job): Promise<LogStart> {
  if (log_pruned_at !== null) return { text: "", isCut: false };
  const { logs, isLast } = await readLog(context, id, 0, { bytes: startLength });
  const lines = new WholeLines();
  const whole = logs.map((chunk) => lines.add(chunk)).join("") + lines.end();
  // Colours are a part of it: what is left of twice as much is enough.
  const text = withoutControlSequences(whole.slice(0, 2 * startLength));
  return {
    text: text.slice(0, startLength),
    isCut: !isLast || whole.length > 2 * startLength || text.length > startLength,
  };
}
