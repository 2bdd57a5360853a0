/** The page of a job, its raw log, and what a person does with it. */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { validate } from "uuid";
import { DecideJob } from "../../../protocol/approvals.ts";
import type { Job } from "../../../protocol/jobs.ts";
import type { UserCaller } from "../../services/callers.ts";
import { validatorOf } from "../../domain/validator-of.ts";
import { notFound, RefusalError } from "../../domain/refusal.ts";
import { refusalOf } from "../../http/problem.ts";
import type { Context } from "../../services/context.ts";
import { decideJob } from "../../services/approvals/approvals.ts";
import { findRule, findMayDecide } from "../../services/approvals/may-decide.ts";
import { findSteps } from "../../services/logs/progress.ts";
import { findResources } from "../../services/logs/resources.ts";
import { findRetry } from "../../services/jobs/retries.ts";
import { retryJob } from "../../services/jobs/retry.ts";
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
import { attempt, Form } from "../page/form.ts";
import { sendPage } from "../page/layout.ts";
import type { Needs } from "../page-permissions.ts";
import type { SignedIn } from "../signed-in.ts";
import { withoutControlSequences } from "../../../common/control-sequences.ts";

/** Characters of the log that a browser without a script gets at once. */
const startLength = 64 * 1024;

/**
 * How often the page of a job that is not over is redrawn, in seconds; a change of its status
 * does so at once.
 */
const refresh = 2;

/**
 * The same while it waits for people: their decisions arrive with the stream of its log, and the page
 * has the whole plan.
 */
const refreshWaiting = 10;

/**
 * Characters of the attributes of a plan, as JSON, on a page that is drawn every two seconds. A
 * larger plan is shown without them until its DEPLOY is over: the page has a link to it.
 */
const mostOften = 64 * 1024;

const validateDecision = validatorOf(DecideJob);

export function jobPages(pages: SignedIn, context: Context): void {
  /** Sends the page; after a form that was refused, with it. */
  const send = async (
    caller: UserCaller,
    id: string,
    request: FastifyRequest,
    reply: FastifyReply,
    form?: Form,
  ): Promise<void> => {
    const job = await getJob(context, caller, id, { progress: false });
    const isWaiting = waitsForApproval(job);
    const isOver = job.ended_at !== null && (job.claimed_at === null || job.released_at !== null);
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
    const now = new Date(context.now()).toISOString();
    const about = {
      job,
      worker,
      plan,
      use,
      deployment,
      cancel,
      retry,
      rule,
      mayDecide,
      form: form ?? new Form(),
      now,
    };
    const page = {
      title: titleOf(job),
      body: jobPage({ ...about, ...told }),
      email: caller.email,
      at: "/jobs",
      ...(form ? { from: `/jobs/${id}` } : {}),
    };
    const often = isWaiting ? refreshWaiting : refresh;
    sendPage(reply, isOver ? page : { ...page, refresh: often }, form?.status);
  };
  pages.get("/jobs/:id", "getJob", async (caller, request, reply) => {
    const { id } = request.params as { id: string };
    if (!validate(id)) {
      reply.redirect(`/jobs/${await findByStart(context, caller, id)}`, 303);
      return;
    }
    await send(caller, id, request, reply);
  });
  pages.post("/jobs/:id/approvals", "decideJob", async (caller, request, reply) => {
    const id = idOf(request.params);
    const refused = await attempt(request.body, async () => {
      const form = new Form(request.body);
      const comment = form.text("comment").trim() || null;
      await decideJob(
        context,
        caller,
        id,
        validateDecision({ decision: form.text("decision"), comment }),
      );
      reply.redirect(`/jobs/${id}`, 303);
    });
    if (refused) await send(caller, id, request, reply, refused);
  });
  pages.get("/jobs/:id/log", "getJobLogs", async (caller, { params }, reply) => {
    const id = idOf(params);
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
  const act = (
    verb: string,
    needs: Needs,
    change: (caller: UserCaller, job: string, form: Form) => Promise<Job>,
  ) =>
    pages.post(`/jobs/:id/${verb}`, needs, async (caller, request, reply) => {
      const id = idOf(request.params);
      // A page that was open for long offers what is refused now; the page as it is now says why.
      const refused = await attempt({}, async () => {
        const done = await change(caller, id, new Form(request.body));
        reply.redirect(`/jobs/${done.id}`, 303);
      });
      if (refused) await send(caller, id, request, reply, refused);
    });
  act("cancel", "plan", (caller, id) => cancelJob(context, caller, id));
  // A page that was open for long may offer what was done since.
  act(
    "retry",
    "plan",
    async (caller, id) =>
      (await findRetry(context, caller, await getJob(context, caller, id, { progress: false }))) ??
      retryJob(context, caller, id),
  );
  act("deploy", "deploy", async (caller, id, form) => {
    const { configuration_id } = await getJob(context, caller, id);
    if (configuration_id === null) throw notFound("configuration any more");
    const debug = form.isOn("debug");
    const asked = { job_type: "DEPLOY", configuration_id, plan_job_id: id, debug } as const;
    return createJob(context, caller, asked);
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

function idOf(params: unknown): string {
  const { id } = params as { id: string };
  if (!validate(id)) throw notFound("job");
  return id;
}

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
