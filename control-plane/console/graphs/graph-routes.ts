import type { PlanSummary } from "../../../protocol/plan-summary.ts";
import { resourceProgressWords } from "../../../protocol/words.ts";
import { notFound } from "../../domain/refusal.ts";
import { getConfiguration } from "../../services/configurations/configurations.ts";
import type { Context } from "../../services/context.ts";
import { drawState } from "../../services/graphs/graphs.ts";
import { getJob } from "../../services/jobs/jobs.ts";
import { appliedOf, findResources, progressOf } from "../../services/logs/resources.ts";
import { getPlanSummary } from "../../services/plans/summaries.ts";
import { html, type Html } from "../page/html.ts";
import { idIn } from "../page/list.ts";
import type { SignedIn } from "../signed-in.ts";
import { choiceOf, graphView } from "./graph-page.ts";
import { progressView, statesOf } from "./graph-progress.ts";

export function graphPages(pages: SignedIn, context: Context): void {
  pages.get("/configurations/:id/graph", "read", async (caller, { params, query }) => {
    const id = idIn(params, "configuration");
    const { name } = await getConfiguration(context, caller, id);
    const { serial, graph } = await drawState(context, caller, id, choiceOf(query));
    const title = `Resources of ${name}`;
    const note = serial === null ? "" : `From the state with serial ${serial}.`;
    const body = html`<nav class="trail" aria-label="Above">
        <a href="/configurations/${id}">${name}</a>
      </nav>
      <h1>${title}</h1>
      ${graphView(graph, title, `/configurations/${id}/graph`, { note })}`;
    return { at: "/zones", title, body };
  });
  pages.get("/jobs/:id/graph", "read", async (caller, { params, query }) => {
    const id = idIn(params, "job");
    const [job, { plan_summary: plan }] = await Promise.all([
      getJob(context, caller, id, { progress: false }),
      getPlanSummary(context, caller, id, { mostAttributes }),
    ]);
    const { job_type, configuration_id: configuration, ended_at } = job;
    if (plan === null || configuration === null) throw notFound("plan");
    const applied = appliedOf((await findResources(context, job)).list, plan.changes);
    const states = statesOf(applied);
    const isOver = ended_at !== null;
    const hasBegun = applied.rows.length > 0;
    const words = hasBegun ? resourceProgressWords(progressOf(applied, plan.counts), isOver) : "";
    const progress = job_type === "PLAN" ? null : progressView(words, states);
    const path = `/jobs/${id}/graph`;
    const live = isOver ? {} : { from: `${path}?part=progress`, refresh };
    // Drawing it takes seconds, and its script needs only the states.
    if ((query as { part?: unknown }).part === "progress")
      return { at: "/jobs", title: "Progress", body: html`${progress}`, ...live };
    const { name } = await getConfiguration(context, caller, configuration);
    const { graph } = await drawState(context, caller, configuration, choiceOf(query), plan);
    const title = `Resources in the ${job_type} of ${name}`;
    const more = { note: origin(plan), progress, changes: plan.changes, states, isOver };
    const body = html`<nav class="trail" aria-label="Above">
        <a href="/jobs/${id}">${job_type} of ${name}</a>
      </nav>
      <h1>${title}</h1>
      ${omitted(plan)} ${graphView(graph, title, path, more)}`;
    return { at: "/jobs", title, body, ...live };
  });
}

/** How often the states of a running apply are read, in seconds. */
const refresh = 2;

/** Characters of the attributes of a plan, as JSON; the page of the job has those of a larger one. */
const mostAttributes = 256 * 1024;

/** Where the arrows come from. An older runner sends none. */
const origin = ({ graph }: PlanSummary): string =>
  graph === undefined
    ? "Dependencies are those of the newest state: what a new resource needs is shown after it is created."
    : "What the changed resources need comes from the configuration, everything else from the newest state. What a new resource needs through a local value or a dynamic block is shown after it is created.";

const omitted = ({ changes_omitted: count }: PlanSummary): Html | null =>
  count === 0
    ? null
    : html`<p class="warning flow">
        The plan has ${count.toLocaleString("en")} more changes than it lists; they are not in the
        graph.
      </p>`;
